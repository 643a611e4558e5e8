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
	Empty    Completeness = "EMPTY"    // the ledger has no leaves, or no events of the time range
	Unproven Completeness = "UNPROVEN" // no proof that nothing is missing, see [Producer]
	Unsealed Completeness = "UNSEALED" // a run stopped without a seal
	Gaps     Completeness = "GAPS"     // events are missing or altered
)

// The exit statuses of a verification.
const (
	ExitVerified    = 0
	ExitUnwitnessed = 10 // verified and complete, but without the required cosignatures or time stamps
	ExitIncomplete  = 11 // not [Complete], or with foreign records, or without a required enrolment
	ExitContradicts = 12 // records contradict others, or a denied call succeeded
	ExitUntrusted   = 20 // a trusted checkpoint was required but is missing
	ExitUnanchored  = 21 // neither a pin nor the user confirms the key
	ExitDiverged    = 30 // the ledger differs from a trusted checkpoint or from the pinned key
	ExitInvalid     = 40
)

// NotProven names facts that no ledger can prove. Every report contains it, so that readers do not
// expect more.
const NotProven = "that tool results were true, or that actions outside registered producers did not happen."

// StateLost is the state of a producer whose outbox is lost.
const StateLost events.State = "lost"

// Report is the result of [Verify].
type Report struct {
	Ledger string    `json:"ledger"` // path of the file
	Tenant string    `json:"tenant"`
	Run    string    `json:"run,omitempty"` // limits completeness; empty for all
	From   time.Time `json:"from,omitzero"` // limits completeness
	To     time.Time `json:"to,omitzero"`   // limits completeness, exclusive

	Integrity    Integrity `json:"integrity"`     // VERIFIED or INVALID
	Problems     []string  `json:"problems"`      // the first ones
	ProblemCount int       `json:"problem_count"` // all problems that make the ledger INVALID

	Leaves      int64           `json:"leaves"`     // all records
	Events      int64           `json:"events"`     // records that are events
	Manifests   int64           `json:"manifests"`  // records that are manifests
	SeenAgain   int64           `json:"seen_again"` // messages that the ledger had already, which add no leaf
	Checkpoints int64           `json:"checkpoints"`
	Checkpoint  *Signed         `json:"checkpoint,omitempty"` // the newest one
	Streams     []ledger.Stream `json:"streams"`              // streams that the ledger was read from, in order
	Breaks      []Break         `json:"breaks,omitempty"`     // places where the stream was replaced or lost messages
	Findings    []FindingAt     `json:"findings"`             // the first records that are set apart, with the reasons
	SetApart    int64           `json:"set_apart"`            // records in quarantine or in conflict with another one

	Foreign           []Foreign      `json:"foreign,omitempty"`             // the first ones
	ForeignCount      int64          `json:"foreign_count,omitempty"`       // all foreign records
	Contradictions    int64          `json:"contradictions,omitempty"`      // records that claim another one's identity
	RecordedTwice     int64          `json:"recorded_twice,omitempty"`      // hook payloads recorded twice
	DeniedResults     []DeniedResult `json:"denied_results,omitempty"`      // the first ones
	DeniedResultCount int64          `json:"denied_result_count,omitempty"` // all successful results of denied calls

	Enrolled        int      `json:"enrolled"`                   // producers with a valid grant
	NotEnrolled     []string `json:"not_enrolled"`               // the other producers
	RequireEnrolled bool     `json:"require_enrolled,omitempty"` // a producer that is not enrolled makes the exit status at least 11

	Completeness Completeness `json:"completeness"` // COMPLETE, EMPTY, UNPROVEN, UNSEALED or GAPS
	Producers    []Producer   `json:"producers"`    // those that count for the verdict
	Gaps         []Gap        `json:"gaps"`         // missing numbers
	Runs         RunCounts    `json:"runs"`
	Open         []string     `json:"open_runs"`                  // runs that may go on, so their events need no seal yet
	Unsealed     []string     `json:"unsealed_runs"`              // runs that went silent without a seal
	Unproven     []string     `json:"unproven_because,omitempty"` // further reasons why it is not complete

	Anchor *Anchor `json:"anchor,omitempty"` // nil if no anchor was asked for

	Trusted  *Trusted  `json:"trusted,omitempty"` // nil if none was given
	Anchored []Trusted `json:"kept,omitempty"`    // checkpoints stored outside the ledger
	// Untrusted means that the caller required a trusted checkpoint, but there is none.
	Untrusted bool `json:"untrusted,omitempty"`

	Witnesses *Witnesses `json:"witnesses,omitempty"` // nil if none were required

	TimeStamps *TimeStamps `json:"time_stamps,omitempty"` // nil if there are none and none were required

	Redacted Redacted `json:"redacted"`

	Keys           []KeyChange  `json:"keys,omitempty"`
	PendingKeys    []PendingKey `json:"pending_keys,omitempty"`    // changes that the ledger has not recorded yet
	Powerless      []Powerless  `json:"powerless,omitempty"`       // the first orders that replaced keys signed
	PowerlessCount int64        `json:"powerless_count,omitempty"` // all such orders

	// Matters lists the findings that a person can acknowledge, the unacknowledged ones first. The
	// list may be incomplete, but the two counts include all findings.
	Matters             []Matter `json:"acknowledgeable,omitempty"`
	AcknowledgedCount   int64    `json:"acknowledged_count,omitempty"`
	UnacknowledgedCount int64    `json:"unacknowledged_count,omitempty"`
	AllowAcknowledged   bool     `json:"allow_acknowledged,omitempty"` // Exit ignores acknowledged findings

	Doubts              *Doubts        `json:"-"` // nil without [Options.Doubts]
	Newest              time.Time      `json:"-"` // when the server stored the newest record
	Records             RecordFindings `json:"-"` // of the ledger, with longer lists than the fields above
	OpenMatters         int            `json:"-"` // findings without acknowledgement, except those about a record
	ForeignAcknowledged int64          `json:"-"`
	ClaimsAcknowledged  int64          `json:"-"`
	Doubtful            bool           `json:"-"` // the verdict is not Complete for a reason outside Matters

	// ExitAcknowledged is the exit status without the acknowledged findings, according to a signed
	// verdict in a bundle. It is nil if there is no such verdict.
	ExitAcknowledged *int `json:"-"`

	AsOf *AsOf `json:"as_of,omitempty"` // up to where and when the verdicts hold

	NotProven string `json:"not_proven"` // a sentence that is the same for every ledger
	Exit      int    `json:"exit"`       // exit status of the command
}

// Signed describes the newest checkpoint of the ledger in a report.
type Signed struct {
	Size int64     `json:"size"` // number of leaves
	Root string    `json:"root"` // hash of the tree, base64
	Time time.Time `json:"time"` // when the auditor signed it
	Key  string    `json:"key"`  // id of the key that signed it
	Note string    `json:"note"` // users pass it to --trusted
}

// FindingAt describes a record that conflicts with another record, or a message that the auditor
// put in quarantine.
type FindingAt struct {
	Leaf           int64          `json:"leaf"`
	Class          ledger.Class   `json:"class"`   // conflict or quarantine
	Finding        ledger.Finding `json:"finding"` // id-reused, sequence-reused, undecodable, unnumbered, oversized or misaddressed
	Producer       string         `json:"producer"`
	Sequence       uint64         `json:"sequence,omitempty"` // its number from the producer
	ID             string         `json:"id,omitempty"`       // id of the event
	StreamSequence uint64         `json:"stream_sequence"`    // its place in the stream
	SHA256         string         `json:"sha256"`             // hash of the record
	Run            string         `json:"-"`
	Kind           events.Kind    `json:"-"`
	First          *int64         `json:"first,omitempty"` // leaf of the first content; nil in a bundle
	// RecordedTwice means that an earlier event has the same id and differs only in its hook
	// executions.
	RecordedTwice bool `json:"recorded_twice,omitempty"`
}

// Producer is the verdict on whether the ledger has all events of one producer.
type Producer struct {
	Name             string    `json:"producer"`
	Sent             uint64    `json:"sent"`                       // highest known number
	Received         uint64    `json:"held"`                       // number of its events in the ledger
	Listed           uint64    `json:"listed"`                     // highest number in a manifest
	Manifests        int64     `json:"manifests"`                  // 0 if nothing can prove completeness
	InFlight         bool      `json:"in_flight"`                  // the last events are recent and wait for a manifest
	InFlightEvents   uint64    `json:"in_flight_events,omitempty"` // events that wait for a manifest, recent or not
	InFlightSince    time.Time `json:"in_flight_since,omitzero"`   // when the server stored the oldest of them
	Unchecked        bool      `json:"unchecked,omitempty"`        // some events were not compared with their manifest
	SilentSinceBreak bool      `json:"unheard,omitempty"`          // nothing arrived since a break of the stream

	// State is the last state that the producer announced. It is [StateLost] if the producer's
	// outbox is lost.
	State    events.State `json:"state,omitempty"`
	Interval uint64       `json:"interval,omitempty"` // maximum seconds between the manifests of an open producer
	Heard    time.Time    `json:"heard,omitzero"`     // when the server stored its last manifest, absent if it announces nothing
	Silent   bool         `json:"silent,omitempty"`   // open, but its manifests stopped
	Lost     *Lost        `json:"lost,omitempty"`     // its lost outbox, if any

	// UnsignedBefore is when the producer's first signed manifest arrived, if unsigned ones had
	// arrived before. Nothing proves who sent the unsigned ones.
	UnsignedBefore time.Time `json:"unsigned_before,omitzero"`

	Enrolment
}

// Cause is the reason for a [Gap].
type Cause string

// The causes.
const (
	CauseRecorded Cause = "recorded" // a gap.recorded event records the loss
	CauseProducer Cause = "producer" // only a manifest declares the loss
	CauseStream   Cause = "stream"   // lost after the producer sent it
	CauseAltered  Cause = "altered"  // other content than the producer sent arrived
	CauseManifest Cause = "manifest" // the events arrived, but not their manifest
	CauseSeal     Cause = "seal"     // the events do not match the seal of the run
)

// Gap is a range of a producer's sequence numbers whose events are missing or altered.
type Gap struct {
	Producer string `json:"producer"`
	First    uint64 `json:"first"`            // first missing or altered number
	Last     uint64 `json:"last"`             // last missing or altered number
	Cause    Cause  `json:"cause"`            // recorded, producer, stream, altered, manifest or seal
	Reason   string `json:"reason,omitempty"` // reason that the producer gave, its first 200 bytes
	Run      string `json:"run,omitempty"`    // only if the cause is seal
}

// RunCounts counts runs by whether their end is proved. It ignores runs that need no such proof.
type RunCounts struct {
	Sealed   int `json:"sealed"`   // runs whose end is proved
	Open     int `json:"open"`     // runs that may go on
	Unsealed int `json:"unsealed"` // runs that went silent without a seal
}

const maxProblems = 50

// NewReport returns the report about the ledger or bundle at path before any checks.
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

// Conclude sets the verdict on integrity and the exit status. If requireTrusted is true and no
// trusted checkpoint confirms the ledger, the exit status is an error. Call Conclude when the
// report contains all problems.
func (r *Report) Conclude(requireTrusted bool) {
	if r.ProblemCount > 0 {
		r.Integrity = Invalid
	}
	r.concludeAnchor()
	r.concludeEnrolment()
	found, diverged := r.trusts()
	r.Untrusted = requireTrusted && !found
	r.Exit = highest(r.LedgerExit(), map[int]bool{
		ExitUnwitnessed: r.Witnesses != nil && !r.Witnesses.Met || r.TimeStamps.Lacks(),
		ExitUntrusted:   r.Untrusted,
		ExitUnanchored:  r.Anchor.Exit() == ExitUnanchored,
		ExitDiverged:    diverged || r.TimeStamps.diverges() || r.Anchor.Exit() == ExitDiverged,
	})
}

// LedgerExit returns the exit status for the contents of the ledger alone. It ignores evidence from
// elsewhere, such as pinned keys, witnesses and trusted checkpoints.
func (r *Report) LedgerExit() int {
	incomplete, contradicts := r.incomplete(), r.contradicts()
	if said := r.ExitAcknowledged; r.AllowAcknowledged && said != nil {
		incomplete, contradicts = *said == ExitIncomplete, *said == ExitContradicts
	}
	return highest(ExitVerified, map[int]bool{
		ExitIncomplete:  incomplete || r.RequireEnrolled && len(r.NotEnrolled) > 0,
		ExitContradicts: contradicts,
		ExitInvalid:     r.Integrity != Verified,
	})
}

// Explain adds a reason to r.Unproven if the file was altered, because an altered file cannot show
// which events are missing. The reason ends with the given remedy. Call Explain once, after
// [Report.Conclude].
func (r *Report) Explain(remedy string) {
	if r.Integrity == Invalid && r.Completeness == Unproven {
		r.Unproven = append(r.Unproven, "an altered or damaged file cannot show what is missing: "+remedy)
	}
}

func highest(exit int, statuses map[int]bool) int {
	for status, applies := range statuses {
		if applies {
			exit = max(exit, status)
		}
	}
	return exit
}

func needsSeal(k events.Kind) bool {
	return k != "" && k != events.Custom && k != events.BlobChunk && !ledger.IsServiceRecord(k)
}
