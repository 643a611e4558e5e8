package daily

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/access"
	"github.com/hooktrail/hooktrail/internal/evidence/coverage"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Format is the name and version of the report format.
const Format = "hooktrail/report/v1"

// Maximum lengths of the lists in a report, because agents could make the lists very long. The
// counts in the report have no limit.
const (
	maxGaps  = 1000
	maxUses  = 1000
	maxCalls = 200
	maxRuns  = 1000
	maxKinds = 100
)

// Report describes the records that a ledger stored in a time range. The times in the events do not
// matter, because producers can choose them.
type Report struct {
	Format  string        `json:"format"`
	Tenant  string        `json:"tenant"`
	From    time.Time     `json:"from"`
	To      time.Time     `json:"to"`
	Silence time.Duration `json:"silence_ns"` // a run that is silent for this long counts as ended

	// Ended means that the time range was over when the checkpoint was signed.
	Ended bool `json:"ended"`

	// Verdict is the verifier's report, without the fields that depend on who runs the verifier.
	Verdict  verifier.Report `json:"verdict"`
	GapCount int             `json:"gap_count"`
	// OpenCount and UnsealedCount are the numbers of all open and unsealed runs. The lists in
	// Verdict may be shorter.
	OpenCount     int `json:"open_count"`
	UnsealedCount int `json:"unsealed_count"`

	// Facts is nil if the ledger is INVALID.
	Facts *Facts `json:"facts,omitempty"`

	Exit int `json:"exit"` // status of the verdict
}

// Facts are counts and lists of the records in the range.
type Facts struct {
	Records     int64              `json:"records"`
	Events      int64              `json:"events"`
	Kinds       []ledger.KindCount `json:"kinds"`       // the most frequent ones
	OtherKinds  int64              `json:"other_kinds"` // records of other kinds
	Finished    Finished           `json:"runs_finished"`
	DeniedCount int64              `json:"denied_count"`
	Denied      []Denied           `json:"denied"` // the first ones

	Uses     []access.Use `json:"uses"` // the first uses of evidence
	UseCount int          `json:"use_count"`
	// Orders are the signed orders in the range, such as erasures, legal holds and key changes.
	Orders  []Order `json:"orders"`
	InForce int     `json:"holds"` // holds in force at the checkpoint

	Erased int64 `json:"erased"` // records of the range that were erased
	Pruned int64 `json:"pruned"` // records of the range that were deleted after their retention
	Held   int64 `json:"held"`   // records of the range under a legal hold

	Checkpoints int64 `json:"checkpoints"` // signed in the range
	Witnessed   int64 `json:"witnessed"`   // leaves that the newest cosigned checkpoint covers
	// Cosignatures is the number of witnesses' signatures on the newest cosigned checkpoint. They
	// are not verified.
	Cosignatures int `json:"cosignatures"`
}

// Finished counts run.finished events by status.
type Finished struct {
	Succeeded int64 `json:"succeeded"`
	Failed    int64 `json:"failed"`
	CutOff    int64 `json:"cut_off,omitempty"` // interrupted, or with an unknown end
	// NotCounted is the number of events without a known status, because they were erased or
	// pruned, or are unreadable.
	NotCounted int64 `json:"not_counted,omitempty"`
}

// Denied is an action, such as a tool call, that a hook or a person refused.
type Denied struct {
	Leaf     int64       `json:"leaf"`
	Time     time.Time   `json:"time"`
	Kind     events.Kind `json:"kind"`
	Run      string      `json:"run,omitempty"`
	Agent    string      `json:"agent,omitempty"`
	Tool     string      `json:"tool,omitempty"`
	ToolCall string      `json:"tool_call,omitempty"`
	// By says who refused the call, if the agent reports it. By is empty if Hooktrail's own hooks
	// refused.
	By events.DeniedBy `json:"by,omitempty"`
}

// Order describes a signed order that the ledger received in the time range of the report.
type Order struct {
	Leaf    int64              `json:"leaf"`
	Action  events.AuditAction `json:"action"`
	By      string             `json:"by"`
	Reason  string             `json:"reason"`
	Ticket  string             `json:"ticket,omitempty"`
	Time    time.Time          `json:"time"`
	Effect  ledger.Effect      `json:"effect"`
	Records int64              `json:"records,omitempty"` // destroyed by the order
	// Approver is the second person who approved the order. It is empty if the order needed no
	// approval.
	Approver string `json:"approver,omitempty"`
}

// Of returns the report of a ledger. verified is the result of [verifier.Verify] for the same time
// range and silence. verified.AsOf must be nil, because it depends on the stream, and the same
// ledger must always give the same report.
func Of(ctx context.Context, r *ledger.Reader, verified verifier.Report, silence time.Duration) (Report, error) {
	c, err := checkpointOf(verified)
	rep := Report{
		Format: Format, Tenant: r.Tenant(), From: verified.From.UTC(), To: verified.To.UTC(), Silence: silence,
		Ended: err == nil && !c.Time.Before(verified.To),
	}
	rep.setVerdict(verified, c)
	if verified.Integrity != verifier.Verified {
		return rep, nil
	}
	if err != nil {
		return Report{}, fmt.Errorf("report: %w", err)
	}
	if rep.Facts, err = factsOf(ctx, r, verified, c); err != nil {
		return Report{}, fmt.Errorf("report: %w", err)
	}
	return rep, nil
}

func checkpointOf(verified verifier.Report) (ledger.Checkpoint, error) {
	if verified.Checkpoint == nil {
		return ledger.Checkpoint{}, fmt.Errorf("the ledger has no checkpoint")
	}
	return ledger.ReadCheckpoint([]byte(verified.Checkpoint.Note))
}

func (rep *Report) setVerdict(v verifier.Report, c ledger.Checkpoint) {
	v.Exit = v.LedgerExit()
	at := verifier.AsOfCheckpoint(c)
	v.AsOf, v.Anchor, v.Trusted, v.Anchored, v.Untrusted, v.Witnesses, v.Ledger = &at, nil, nil, nil, false, nil, ""
	rep.GapCount, rep.OpenCount, rep.UnsealedCount = len(v.Gaps), len(v.Open), len(v.Unsealed)
	v.Gaps = v.Gaps[:min(len(v.Gaps), maxGaps)]
	v.Open, v.Unsealed = v.Open[:min(len(v.Open), maxRuns)], v.Unsealed[:min(len(v.Unsealed), maxRuns)]
	rep.Verdict, rep.Exit = v, v.Exit
}

// JSON returns the report as a line of JSON without control characters. Equal reports give equal
// bytes.
func (rep Report) JSON() ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(termtext.SafeJSON(&out))
	enc.SetEscapeHTML(false)
	if err := enc.Encode(rep); err != nil {
		return nil, fmt.Errorf("encode report: %w", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

func coverageOf(ctx context.Context, r *ledger.Reader, v verifier.Report, f *Facts, before int64) error {
	c, err := coverage.Of(ctx, r, v, v.From, v.To)
	if err != nil {
		return err
	}
	f.Witnessed, f.Cosignatures = c.Witnessed, c.Cosignatures
	used := make(map[int64]bool)
	for _, h := range c.Hours {
		f.Erased, f.Pruned, f.Held = f.Erased+h.Erased, f.Pruned+h.Pruned, f.Held+h.Held
		for _, u := range h.Accesses {
			if u.Leaf >= before {
				continue
			}
			used[u.Leaf] = true
			if f.UseCount++; len(f.Uses) < maxUses {
				f.Uses = append(f.Uses, u)
			}
		}
	}
	for _, o := range v.Redacted.Orders {
		if used[o.Leaf] {
			f.Orders = append(f.Orders, Order{o.Leaf, o.Action, o.By, o.Reason, o.Ticket, o.Time, o.Effect, o.Records, o.Approver})
		}
	}
	f.InForce = v.Redacted.Holds
	return nil
}
