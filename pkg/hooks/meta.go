package hooks

import "time"

// Meta is the position of a dispatch in a run. Hooks get it by value, so no
// hook can change it for the next hook or the event.
type Meta struct {
	Tenant      string // owner of the run
	Run         string
	RunType     string // TRIAGE, PLAN, RESOLVE, REVIEW, AUTOPILOT
	Step        string
	Session     string
	Agent       string
	AgentRole   string // FOREMAN, CODER, …
	ParentAgent string
	ParentRun   string
	TeamRoot    string // working directory of the team
	Thread      string
	User        string
	Flow        string
	Side        string // of a conversation: "a" or "b"
	ToolCall    string // id that pairs a tool call with its result
	AgentFS     string // AgentFS file of the run
	Hooks       string // enabled sinks among "agentfs" and "beads"; empty means all
	Traceparent string // W3C trace context

	StepCount int       // model turns so far
	Stopped   bool      // whether the run must stop
	Time      time.Time // time of the reported event; zero means now
	Sequence  uint64    // number of the dispatch in its run, set by the engine
}
