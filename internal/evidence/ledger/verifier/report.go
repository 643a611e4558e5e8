package verifier

import (
	"fmt"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Integrity is the verdict on whether the ledger was altered after it was signed.
type Integrity string

// The verdicts on integrity.
const (
	Verified Integrity = "VERIFIED"
	Invalid  Integrity = "INVALID"
)

// Completeness is the verdict on whether the ledger has everything that the producers sent.
type Completeness string

// The verdicts on completeness, from the best to the worst. Only Complete is a success.
const (
	Complete Completeness = "COMPLETE"
	Empty    Completeness = "EMPTY"    // the ledger has no leaves
	Unproven Completeness = "UNPROVEN" // some events or producers have not been proved complete, see [Producer]
	Unsealed Completeness = "UNSEALED" // a run stopped without a seal
	Gaps     Completeness = "GAPS"     // events are missing or altered
)

// The exit statuses of a verification.
const (
	ExitVerified    = 0
	ExitUnwitnessed = 10 // verified and complete, but too few of the required witnesses have cosigned
	ExitIncomplete  = 11 // unaltered, but not [Complete], with foreign records, or without a required enrolment
	ExitContradicts = 12 // unaltered, but records contradict others, or a denied call succeeded
	ExitUntrusted   = 20 // a trusted checkpoint was required but is missing
	ExitUnanchored  = 21 // the key is not confirmed by a pin or by the user
	ExitDiverged    = 30 // the ledger differs from a trusted checkpoint, or its key from the pinned key
	ExitInvalid     = 40
)

// NotProven names what no ledger can prove. Every report contains it.
const NotProven = "that tool results were true, or that actions outside registered producers did not happen."

// Report is the result of [Verify].
type Report struct {
	Ledger string    `json:"ledger"`
	Tenant string    `json:"tenant"`
	Run    string    `json:"run,omitempty"` // the run that completeness is limited to; empty for all
	From   time.Time `json:"from,omitzero"` // start of the time range that completeness is limited to
	To     time.Time `json:"to,omitzero"`

	Integrity    Integrity `json:"integrity"`
	Problems     []string  `json:"problems"` // the first ones; ProblemCount counts all
	ProblemCount int       `json:"problem_count"`

	Leaves      int64           `json:"leaves"`
	Events      int64           `json:"events"`
	Manifests   int64           `json:"manifests"`
	SeenAgain   int64           `json:"seen_again"`
	Checkpoints int64           `json:"checkpoints"`
	Checkpoint  *Signed         `json:"checkpoint,omitempty"`
	Streams     []ledger.Stream `json:"streams"`
	Breaks      []Break         `json:"breaks,omitempty"`
	Findings    []FindingAt     `json:"findings"`
	SetApart    int64           `json:"set_apart"`

	Foreign           []Foreign      `json:"foreign,omitempty"` // the first ones; ForeignCount counts all
	ForeignCount      int64          `json:"foreign_count,omitempty"`
	Contradictions    int64          `json:"contradictions,omitempty"` // records that claim the identity of another one
	RecordedTwice     int64          `json:"recorded_twice,omitempty"` // hook payloads recorded twice; no contradictions
	DeniedResults     []DeniedResult `json:"denied_results,omitempty"` // the first ones
	DeniedResultCount int64          `json:"denied_result_count,omitempty"`

	Enrolled        int      `json:"enrolled"`     // number of producers
	NotEnrolled     []string `json:"not_enrolled"` // names of the other producers
	RequireEnrolled bool     `json:"require_enrolled,omitempty"`

	Completeness Completeness `json:"completeness"`
	Producers    []Producer   `json:"producers"`
	Gaps         []Gap        `json:"gaps"`
	Runs         RunCounts    `json:"runs"`
	Open         []string     `json:"open_runs"`
	Unsealed     []string     `json:"unsealed_runs"`

	Anchor *Anchor `json:"anchor,omitempty"` // nil without [Options.Anchor]

	Trusted  *Trusted  `json:"trusted,omitempty"` // nil if none was given
	Anchored []Trusted `json:"kept,omitempty"`    // results for stored checkpoints, see [Options.Anchored]
	// Untrusted reports that a trusted checkpoint was required but is missing.
	Untrusted bool `json:"untrusted,omitempty"`

	Witnesses *Witnesses `json:"witnesses,omitempty"` // nil if none were required

	Redacted Redacted `json:"redacted"`

	Keys           []KeyChange `json:"keys,omitempty"`
	Powerless      []Powerless `json:"powerless,omitempty"` // the first orders that replaced keys signed
	PowerlessCount int64       `json:"powerless_count,omitempty"`

	// Matters are the first findings that can be acknowledged, those without an
	// acknowledgement at the front.
	Matters             []Matter `json:"acknowledgeable,omitempty"`
	AcknowledgedCount   int64    `json:"acknowledged_count,omitempty"`
	UnacknowledgedCount int64    `json:"unacknowledged_count,omitempty"`
	AllowAcknowledged   bool     `json:"allow_acknowledged,omitempty"` // Exit ignores acknowledged findings

	OpenMatters         int   `json:"-"` // findings without acknowledgement, not counting records
	ForeignAcknowledged int64 `json:"-"`
	ClaimsAcknowledged  int64 `json:"-"` // how many of Contradictions are acknowledged
	Doubtful            bool  `json:"-"` // the verdict is not Complete for a reason that is not in Matters

	AsOf *AsOf `json:"as_of,omitempty"` // set by [Report.SetAsOf]

	NotProven string `json:"not_proven"`
	Exit      int    `json:"exit"`
}

// Signed describes the newest checkpoint in a report.
type Signed struct {
	Size int64     `json:"size"`
	Root string    `json:"root"`
	Time time.Time `json:"time"`
	Key  string    `json:"key"`
	Note string    `json:"note"` // the signed note; users store it elsewhere and pass it to --trusted
}

// FindingAt describes a conflict or a message in quarantine.
type FindingAt struct {
	Leaf           int64          `json:"leaf"`
	Class          ledger.Class   `json:"class"`
	Finding        ledger.Finding `json:"finding"`
	Producer       string         `json:"producer"`
	Sequence       uint64         `json:"sequence,omitempty"`
	ID             string         `json:"id,omitempty"`
	StreamSequence uint64         `json:"stream_sequence"`
	SHA256         string         `json:"sha256"`          // hash of the record
	First          *int64         `json:"first,omitempty"` // leaf of the first content; nil in a bundle
	// RecordedTwice means that the record differs from the first content only in the
	// executions of hooks.
	RecordedTwice bool `json:"recorded_twice,omitempty"`
}

// Producer is the verdict on the completeness of one producer.
type Producer struct {
	Name             string `json:"producer"`
	Sent             uint64 `json:"sent"`                // highest number that it is known to have used
	Received         uint64 `json:"held"`                // count of its numbers in the ledger
	Listed           uint64 `json:"listed"`              // highest number that a manifest lists
	Manifests        int64  `json:"manifests"`           // 0 if nothing can prove completeness
	InFlight         bool   `json:"in_flight"`           // the last events are recent and wait for a manifest
	Unchecked        bool   `json:"unchecked,omitempty"` // some events were not compared with their manifest
	SilentSinceBreak bool   `json:"unheard,omitempty"`   // nothing arrived since a break of the stream, so events may be lost

	// State is the state that the producer announced last. It is empty if the producer
	// announces none. An open producer signs its next manifest within Interval seconds. Heard
	// is the time at which the server stored its last manifest.
	State    events.State `json:"state,omitempty"`
	Interval uint64       `json:"interval,omitempty"`
	Heard    time.Time    `json:"heard,omitzero"`
	Silent   bool         `json:"silent,omitempty"` // it announced that it is open, but its manifests stopped
	Lost     *Lost        `json:"lost,omitempty"`   // set if its outbox is lost

	// UnsignedBefore is when the first signed manifest arrived, if unsigned ones came before
	// it. It is not proved who sent the unsigned ones.
	UnsignedBefore time.Time `json:"unsigned_before,omitzero"`

	Enrolment
}

// Cause is the reason why a gap exists.
type Cause string

// The causes.
const (
	CauseRecorded Cause = "recorded" // the producer recorded the loss in a gap.recorded event
	CauseProducer Cause = "producer" // lost at the producer, and only its manifest declares the loss
	CauseStream   Cause = "stream"   // lost in the stream after the producer sent it
	CauseAltered  Cause = "altered"  // arrived, but with other content than the producer sent
	CauseManifest Cause = "manifest" // the events arrived, but not the manifest that lists them
	CauseSeal     Cause = "seal"     // the events do not match the seal of the run
)

// Gap is a range of a producer's numbers whose events are missing or altered.
type Gap struct {
	Producer string `json:"producer"`
	First    uint64 `json:"first"`
	Last     uint64 `json:"last"`
	Cause    Cause  `json:"cause"`
	Reason   string `json:"reason,omitempty"` // as the producer gave it
	Run      string `json:"run,omitempty"`
}

// RunCounts counts runs by their state. Runs that need no seal and have none are not counted.
type RunCounts struct {
	Sealed   int `json:"sealed"`
	Open     int `json:"open"`
	Unsealed int `json:"unsealed"`
}

const maxProblems = 50

// NewReport returns a report about the file at path before any checks.
func NewReport(path string) Report {
	return Report{Ledger: path, Integrity: Verified, Completeness: Unproven, NotProven: NotProven}
}

// AddProblem adds a problem, which makes the ledger [Invalid].
func (r *Report) AddProblem(format string, args ...any) {
	r.ProblemCount++
	if len(r.Problems) < maxProblems {
		r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
	}
}

// Conclude sets the verdict on integrity and the exit status. It is called after all problems
// and comparisons are in the report.
func (r *Report) Conclude(requireTrusted bool) {
	if r.ProblemCount > 0 {
		r.Integrity = Invalid
	}
	r.concludeAnchor()
	r.concludeEnrolment()
	found, diverged := r.trusts()
	r.Untrusted = requireTrusted && !found
	r.Exit = highest(r.LedgerExit(), map[int]bool{
		ExitUnwitnessed: r.Witnesses != nil && !r.Witnesses.Met,
		ExitUntrusted:   r.Untrusted,
		ExitUnanchored:  r.Anchor.Exit() == ExitUnanchored,
		ExitDiverged:    diverged || r.Anchor.Exit() == ExitDiverged,
	})
}

// LedgerExit returns the exit status for the ledger alone. It ignores the anchor, witnesses
// and trusted checkpoints.
func (r *Report) LedgerExit() int {
	return highest(ExitVerified, map[int]bool{
		ExitIncomplete:  r.incomplete() || r.RequireEnrolled && len(r.NotEnrolled) > 0,
		ExitContradicts: r.contradicts(),
		ExitInvalid:     r.Integrity != Verified,
	})
}

func highest(exit int, statuses map[int]bool) int {
	for status, applies := range statuses {
		if applies {
			exit = max(exit, status)
		}
	}
	return exit
}

// isLifecycle reports whether an event of kind k shows that its run continues, so that a seal
// is needed after it.
func isLifecycle(k events.Kind) bool {
	return k != "" && k != events.Custom && k != events.BlobChunk && !ledger.IsServiceRecord(k)
}
