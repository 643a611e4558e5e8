package verifier

import (
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Integrity is the first verdict: whether anything was altered since it was signed.
type Integrity string

// The verdicts about integrity.
const (
	Verified Integrity = "VERIFIED"
	Invalid  Integrity = "INVALID"
)

// Completeness is the second verdict: whether everything is there that the
// producers sent.
type Completeness string

// The verdicts about completeness, the best first.
const (
	Complete Completeness = "COMPLETE"
	Unproven Completeness = "UNPROVEN" // a producer without manifests, or with events that none lists
	Unsealed Completeness = "UNSEALED" // a run went silent without its seal
	Gaps     Completeness = "GAPS"     // something is missing
)

// The exit statuses of a verification.
const (
	ExitVerified    = 0
	ExitUnwitnessed = 10 // verified and complete, without the witnesses asked for
	ExitIncomplete  = 11 // intact, but not [Complete]
	ExitUntrusted   = 20 // a trusted checkpoint was required and there was none
	ExitDiverged    = 30 // from the trusted checkpoint
	ExitInvalid     = 40
)

// NotProven is what no ledger can tell.
const NotProven = "that tool results were true, or that actions outside registered producers did not happen."

// Report is what [Verify] found out.
type Report struct {
	Ledger string `json:"ledger"` // its file
	Tenant string `json:"tenant"`

	Integrity    Integrity `json:"integrity"`
	Problems     []string  `json:"problems"` // the first of them
	ProblemCount int       `json:"problem_count"`

	Leaves      int64           `json:"leaves"`
	Events      int64           `json:"events"`
	Manifests   int64           `json:"manifests"`
	SeenAgain   int64           `json:"seen_again"`
	Checkpoints int64           `json:"checkpoints"`
	Checkpoint  *Signed         `json:"checkpoint,omitempty"` // the newest
	Streams     []ledger.Stream `json:"streams"`              // that the ledger was fed from, in order
	Breaks      []Break         `json:"breaks,omitempty"`     // where the stream did not go on as it was, in order
	Findings    []FindingAt     `json:"findings"`             // conflicts and quarantine, the first of them
	SetApart    int64           `json:"set_apart"`            // how many of them there are

	Completeness Completeness `json:"completeness"`
	Producers    []Producer   `json:"producers"`
	Gaps         []Gap        `json:"gaps"`
	Runs         RunCounts    `json:"runs"`
	Open         []string     `json:"open_runs"`     // runs that go on
	Unsealed     []string     `json:"unsealed_runs"` // runs that went silent

	Trusted *Trusted  `json:"trusted,omitempty"` // nil: none was given
	Kept    []Trusted `json:"kept,omitempty"`    // checkpoints that were found outside the ledger

	Witnesses *Witnesses `json:"witnesses,omitempty"` // nil: none were asked for

	Redacted Redacted `json:"redacted"`

	Keys           []KeyChange `json:"keys,omitempty"`      // changes of the key, in order
	Powerless      []Powerless `json:"powerless,omitempty"` // orders of keys that had been replaced, the first of them
	PowerlessCount int64       `json:"powerless_count,omitempty"`

	NotProven string `json:"not_proven"`
	Exit      int    `json:"exit"`
}

// Signed is a checkpoint in a report.
type Signed struct {
	Size int64     `json:"size"`
	Root string    `json:"root"`
	Time time.Time `json:"time"`
	Key  string    `json:"key"`
	Note string    `json:"note"` // the signed text: keep it elsewhere and give it to --trusted
}

// FindingAt is a record that was set apart.
type FindingAt struct {
	Leaf           int64          `json:"leaf"`
	Class          ledger.Class   `json:"class"`
	Finding        ledger.Finding `json:"finding"`
	Producer       string         `json:"producer"`
	Sequence       uint64         `json:"sequence,omitempty"`
	ID             string         `json:"id,omitempty"`
	StreamSequence uint64         `json:"stream_sequence"`
}

// Producer is what is known of one producer.
type Producer struct {
	Name      string `json:"producer"`
	Sent      uint64 `json:"sent"`                // the highest number that is known of
	Held      uint64 `json:"held"`                // numbers that the ledger has
	Listed    uint64 `json:"listed"`              // the highest number that a manifest lists
	Manifests int64  `json:"manifests"`           // none: nothing proves that all is there
	InFlight  bool   `json:"in_flight"`           // the last events wait for their manifest
	Unchecked bool   `json:"unchecked,omitempty"` // more events waited for a manifest than are remembered: whether they are as it says is not known
	Unheard   bool   `json:"unheard,omitempty"`   // nothing came of it since the stream broke off: more may be lost
}

// Cause says how something came to be missing.
type Cause string

// The causes.
const (
	CauseRecorded Cause = "recorded" // the producer said so: a gap.recorded and a manifest, or the first alone
	CauseProducer Cause = "producer" // lost at the producer: its manifest lists the range, and no gap was recorded
	CauseStream   Cause = "stream"   // lost in the stream: the producer sent it
	CauseAltered  Cause = "altered"  // it came, but not as the producer sent it
	CauseManifest Cause = "manifest" // the events came, their manifest did not
	CauseSeal     Cause = "seal"     // the run's seal tells of other events
)

// Gap is a range of a producer's numbers with which something is wrong.
type Gap struct {
	Producer string `json:"producer"`
	First    uint64 `json:"first"`
	Last     uint64 `json:"last"`
	Cause    Cause  `json:"cause"`
	Reason   string `json:"reason,omitempty"` // the producer's word
	Run      string `json:"run,omitempty"`    // of a seal
}

// RunCounts counts runs. One that never said how it goes is none of these.
type RunCounts struct {
	Sealed   int `json:"sealed"`
	Open     int `json:"open"`
	Unsealed int `json:"unsealed"`
}

// exit returns the exit status that r stands for.
func (r *Report) exit(requireTrusted bool) int {
	found, diverged := r.trusts()
	switch {
	case r.Integrity != Verified:
		return ExitInvalid
	case diverged:
		return ExitDiverged
	case !found && requireTrusted:
		return ExitUntrusted
	case r.Completeness != Complete:
		return ExitIncomplete
	case r.Witnesses != nil && !r.Witnesses.Met:
		return ExitUnwitnessed
	}
	return ExitVerified
}

// isLifecycle reports whether an event of kind k is a sign that its run goes on,
// so that a seal has to follow.
func isLifecycle(k events.Kind) bool {
	return k != "" && k != events.Custom && k != events.BlobChunk && !ledger.IsServiceRecord(k)
}
