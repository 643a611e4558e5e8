package hooks

import "github.com/hooktrail/hooktrail/pkg/events"

// Verdict is what a decision hook, or all of them together, decided.
type Verdict = events.Verdict

// The verdicts, strongest first.
const (
	Deny  = events.VerdictDeny
	Ask   = events.VerdictAsk
	Allow = events.VerdictAllow
	None  = events.VerdictNone // no opinion
)

// Execution reports one hook's part in a dispatch.
type Execution = events.Execution

// Decision is the answer of a decision hook; a nil *Decision says nothing at
// all. In one without a verdict, patch and context still count. The patch and
// the context of a denial do not change what was judged; its context is kept.
type Decision[P any] struct {
	Verdict Verdict // empty: no opinion
	Reason  string  // why, for people and models
	Context string  // what the agent is to know besides
	Patch   *P      // what to change; nil: nothing
}

// Outcome is what the hooks of a decision point said together. The strongest
// verdict counts, deny before ask before allow, whatever the order; the first
// hook that gave it is By and has the Reason.
type Outcome[In, P any] struct {
	Verdict    Verdict     // never empty; None without an opinion
	Reason     string      // of the hook that decided
	Context    string      // of all hooks, in order, a blank line in between
	Input      In          // as patched: what to go on with, or what was denied
	Patch      P           // all patches together, the later one winning
	Modified   bool        // a patch changed the input or asked for something
	By         ID          // the hook that decided; empty without an opinion
	Executions []Execution // of the hooks that ran, in order
	Event      string      // id of the recorded event; empty without an Appender
	RecordErr  error       // the event could not be recorded
}
