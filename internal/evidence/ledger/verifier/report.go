package verifier

import (
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Integrity is the verdict on whether anything was altered since it was signed.
type Integrity string

// The verdicts on integrity.
const (
	Verified Integrity = "VERIFIED"
	Invalid  Integrity = "INVALID"
)

// Completeness is the verdict on whether the ledger has everything that the producers sent.
type Completeness string

// The verdicts on completeness, the best first.
const (
	Complete Completeness = "COMPLETE"
	Unproven Completeness = "UNPROVEN" // a producer has no manifests, or none for its last events
	Unsealed Completeness = "UNSEALED" // a run went silent without a seal
	Gaps     Completeness = "GAPS"     // events are missing or altered
)

// The exit statuses of a verification.
const (
	ExitVerified    = 0
	ExitUnwitnessed = 10 // verified and complete, but the required witnesses are missing
	ExitIncomplete  = 11 // intact, but not [Complete]
	ExitUntrusted   = 20 // a trusted checkpoint was required and is missing
	ExitDiverged    = 30 // the ledger differs from a trusted checkpoint
	ExitInvalid     = 40
)

// NotProven states the limits of every ledger.
const NotProven = "that tool results were true, or that actions outside registered producers did not happen."

// Report is the result of [Verify].
type Report struct {
	Ledger string `json:"ledger"` // its file
	Tenant string `json:"tenant"`

	Integrity    Integrity `json:"integrity"`
	Problems     []string  `json:"problems"` // the first ones
	ProblemCount int       `json:"problem_count"`

	Leaves      int64           `json:"leaves"`
	Events      int64           `json:"events"`
	Manifests   int64           `json:"manifests"`
	SeenAgain   int64           `json:"seen_again"`
	Checkpoints int64           `json:"checkpoints"`
	Checkpoint  *Signed         `json:"checkpoint,omitempty"` // the newest
	Streams     []ledger.Stream `json:"streams"`              // streams of the ledger, in order
	Breaks      []Break         `json:"breaks,omitempty"`     // breaks of the stream, in order
	Findings    []FindingAt     `json:"findings"`             // conflicts and quarantine, the first ones
	SetApart    int64           `json:"set_apart"`            // number of findings

	Completeness Completeness `json:"completeness"`
	Producers    []Producer   `json:"producers"`
	Gaps         []Gap        `json:"gaps"`
	Runs         RunCounts    `json:"runs"`
	Open         []string     `json:"open_runs"`     // runs that continue
	Unsealed     []string     `json:"unsealed_runs"` // runs that went silent

	Trusted  *Trusted  `json:"trusted,omitempty"` // nil if none was given
	Anchored []Trusted `json:"kept,omitempty"`    // checkpoints found outside the ledger

	Witnesses *Witnesses `json:"witnesses,omitempty"` // nil if none were required

	Redacted Redacted `json:"redacted"`

	Keys           []KeyChange `json:"keys,omitempty"`      // changes of the key, in order
	Powerless      []Powerless `json:"powerless,omitempty"` // orders by replaced keys, the first ones
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
	Note string    `json:"note"` // the signed note: store it elsewhere and pass it to --trusted
}

// FindingAt is a conflict or a message in quarantine.
type FindingAt struct {
	Leaf           int64          `json:"leaf"`
	Class          ledger.Class   `json:"class"`
	Finding        ledger.Finding `json:"finding"`
	Producer       string         `json:"producer"`
	Sequence       uint64         `json:"sequence,omitempty"`
	ID             string         `json:"id,omitempty"`
	StreamSequence uint64         `json:"stream_sequence"`
}

// Producer is the verdict on one producer.
type Producer struct {
	Name      string `json:"producer"`
	Sent      uint64 `json:"sent"`                // the highest known number
	Received  uint64 `json:"held"`                // count of numbers in the ledger
	Listed    uint64 `json:"listed"`              // the highest number that a manifest lists
	Manifests int64  `json:"manifests"`           // 0 if nothing proves completeness
	InFlight  bool   `json:"in_flight"`           // the last events wait for a manifest
	Unchecked bool   `json:"unchecked,omitempty"` // too many events waited for a manifest to compare them
	Unheard   bool   `json:"unheard,omitempty"`   // nothing arrived since a break of the stream, so more may be lost
}

// Cause says why a gap exists.
type Cause string

// The causes.
const (
	CauseRecorded Cause = "recorded" // recorded by the producer with gap.recorded, with or without a manifest
	CauseProducer Cause = "producer" // lost at the producer: its manifest lists the range without a gap.recorded
	CauseStream   Cause = "stream"   // lost in the stream: the producer sent it
	CauseAltered  Cause = "altered"  // arrived, but not as the producer sent it
	CauseManifest Cause = "manifest" // the events arrived without their manifest
	CauseSeal     Cause = "seal"     // the events differ from the run's seal
)

// Gap is a range of a producer's numbers that is missing or altered.
type Gap struct {
	Producer string `json:"producer"`
	First    uint64 `json:"first"`
	Last     uint64 `json:"last"`
	Cause    Cause  `json:"cause"`
	Reason   string `json:"reason,omitempty"` // given by the producer
	Run      string `json:"run,omitempty"`    // for a seal
}

// RunCounts counts runs. It omits runs without lifecycle events.
type RunCounts struct {
	Sealed   int `json:"sealed"`
	Open     int `json:"open"`
	Unsealed int `json:"unsealed"`
}

// exit returns the exit status of r.
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

// isLifecycle reports whether an event of kind k continues its run, so that a seal has to
// follow.
func isLifecycle(k events.Kind) bool {
	return k != "" && k != events.Custom && k != events.BlobChunk && !ledger.IsServiceRecord(k)
}
