package verifier

import (
	"fmt"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Integrity says whether anything was altered since it was signed.
type Integrity string

// The verdicts on integrity.
const (
	Verified Integrity = "VERIFIED"
	Invalid  Integrity = "INVALID"
)

// Completeness says whether the ledger has everything that the producers sent.
type Completeness string

// The verdicts on completeness, the best first. Only Complete is a success.
const (
	Complete Completeness = "COMPLETE"
	Empty    Completeness = "EMPTY"    // the ledger has no leaves
	Unproven Completeness = "UNPROVEN" // a producer has no manifests, or none for its last events, or went silent, or events wait
	Unsealed Completeness = "UNSEALED" // a run went silent without a seal
	Gaps     Completeness = "GAPS"     // events are missing or altered
)

// The exit statuses of a verification.
const (
	ExitVerified    = 0
	ExitUnwitnessed = 10 // verified and complete, but the required witnesses are missing
	ExitIncomplete  = 11 // intact, but not [Complete], with foreign records, or without a required enrolment
	ExitContradicts = 12 // intact, but records claim the id, number or subject of others, or a denied call succeeded
	ExitUntrusted   = 20 // a trusted checkpoint was required and is missing
	ExitUnanchored  = 21 // nothing from elsewhere vouches for the key
	ExitDiverged    = 30 // the ledger differs from a trusted checkpoint, or its key from the pinned one
	ExitInvalid     = 40
)

// NotProven states the limits of every ledger.
const NotProven = "that tool results were true, or that actions outside registered producers did not happen."

// Report is the result of [Verify].
type Report struct {
	Ledger string    `json:"ledger"`
	Tenant string    `json:"tenant"`
	Run    string    `json:"run,omitempty"` // that completeness is about; empty for all
	From   time.Time `json:"from,omitzero"` // limits of what completeness is about
	To     time.Time `json:"to,omitzero"`

	Integrity    Integrity `json:"integrity"`
	Problems     []string  `json:"problems"` // the first ones
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

	Foreign           []Foreign      `json:"foreign,omitempty"` // the first ones
	ForeignCount      int64          `json:"foreign_count,omitempty"`
	Contradictions    int64          `json:"contradictions,omitempty"` // of them, records that claim the id, number or subject of another one
	RecordedTwice     int64          `json:"recorded_twice,omitempty"` // hook payloads, set apart and no contradictions
	DeniedResults     []DeniedResult `json:"denied_results,omitempty"` // the first ones
	DeniedResultCount int64          `json:"denied_result_count,omitempty"`

	Enrolled        int      `json:"enrolled"`     // number of producers
	NotEnrolled     []string `json:"not_enrolled"` // names of the others
	RequireEnrolled bool     `json:"require_enrolled,omitempty"`

	Completeness Completeness `json:"completeness"`
	Producers    []Producer   `json:"producers"`
	Gaps         []Gap        `json:"gaps"`
	Runs         RunCounts    `json:"runs"`
	Open         []string     `json:"open_runs"`
	Unsealed     []string     `json:"unsealed_runs"`

	Anchor *Anchor `json:"anchor,omitempty"` // nil without [Options.Anchor]

	Trusted  *Trusted  `json:"trusted,omitempty"` // nil if none was given
	Anchored []Trusted `json:"kept,omitempty"`    // from outside the ledger
	// Untrusted reports that a trusted checkpoint was required and is missing.
	Untrusted bool `json:"untrusted,omitempty"`

	Witnesses *Witnesses `json:"witnesses,omitempty"` // nil if none were required

	Redacted Redacted `json:"redacted"`

	Keys           []KeyChange `json:"keys,omitempty"`
	Powerless      []Powerless `json:"powerless,omitempty"` // orders by replaced keys, the first ones
	PowerlessCount int64       `json:"powerless_count,omitempty"`

	// Matters are the findings that can be acknowledged, the new ones first.
	Matters             []Matter `json:"acknowledgeable,omitempty"` // the first ones
	AcknowledgedCount   int64    `json:"acknowledged_count,omitempty"`
	UnacknowledgedCount int64    `json:"unacknowledged_count,omitempty"`
	AllowAcknowledged   bool     `json:"allow_acknowledged,omitempty"` // Exit is without the acknowledged ones

	OpenMatters         int   `json:"-"` // not acknowledged, apart from records
	ForeignAcknowledged int64 `json:"-"`
	ClaimsAcknowledged  int64 `json:"-"` // of Contradictions
	Doubtful            bool  `json:"-"` // not complete for a reason that is not in Matters

	AsOf *AsOf `json:"as_of,omitempty"` // set by [Report.SetAsOf]

	NotProven string `json:"not_proven"`
	Exit      int    `json:"exit"`
}

// Signed is a checkpoint in a report.
type Signed struct {
	Size int64     `json:"size"`
	Root string    `json:"root"`
	Time time.Time `json:"time"`
	Key  string    `json:"key"`
	Note string    `json:"note"` // signed; store it elsewhere and pass it to --trusted
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
	SHA256         string         `json:"sha256"`          // of the record
	First          *int64         `json:"first,omitempty"` // of a conflict, the leaf with the first content; not in a bundle
	// RecordedTwice means that only the executions of hooks differ from the first content.
	RecordedTwice bool `json:"recorded_twice,omitempty"`
}

// Producer is the verdict on one producer.
type Producer struct {
	Name             string `json:"producer"`
	Sent             uint64 `json:"sent"`                // the highest known number
	Received         uint64 `json:"held"`                // count of numbers in the ledger
	Listed           uint64 `json:"listed"`              // by a manifest, the highest number
	Manifests        int64  `json:"manifests"`           // 0 if nothing proves completeness
	InFlight         bool   `json:"in_flight"`           // the last events wait for a manifest
	Unchecked        bool   `json:"unchecked,omitempty"` // too many events waited for a manifest to compare them
	SilentSinceBreak bool   `json:"unheard,omitempty"`   // nothing arrived since a break of the stream, so more may be lost

	// State is what the producer announced last, empty if it announces nothing. Interval is
	// the time in seconds within which an open one signs the next manifest. Heard is when
	// the server stored its last manifest.
	State    events.State `json:"state,omitempty"`
	Interval uint64       `json:"interval,omitempty"`
	Heard    time.Time    `json:"heard,omitzero"`
	Silent   bool         `json:"silent,omitempty"` // open, and not heard of in time
	Lost     *Lost        `json:"lost,omitempty"`   // its outbox is lost

	// UnsignedBefore is when the first signed manifest arrived after unsigned ones. The
	// author of the chain before it is not proved.
	UnsignedBefore time.Time `json:"unsigned_before,omitzero"`

	Enrolment
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
	Run      string `json:"run,omitempty"`
}

// RunCounts counts runs. It omits runs without lifecycle events.
type RunCounts struct {
	Sealed   int `json:"sealed"`
	Open     int `json:"open"`
	Unsealed int `json:"unsealed"`
}

const maxProblems = 50

// NewReport returns the report of a file before anything was checked.
func NewReport(path string) Report {
	return Report{Ledger: path, Integrity: Verified, Completeness: Unproven, NotProven: NotProven}
}

// AddProblem reports a difference from what was signed.
func (r *Report) AddProblem(format string, args ...any) {
	r.ProblemCount++
	if len(r.Problems) < maxProblems {
		r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
	}
}

// Conclude sets the verdict on integrity and the exit status, after all problems and
// comparisons are in the report.
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

// LedgerExit returns the exit status that the ledger itself demands, without the anchor and
// without comparisons with other evidence.
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

// isLifecycle reports whether an event of kind k continues its run, so that a seal has to
// follow.
func isLifecycle(k events.Kind) bool {
	return k != "" && k != events.Custom && k != events.BlobChunk && !ledger.IsServiceRecord(k)
}
