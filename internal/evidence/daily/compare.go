package daily

import (
	"context"
	"fmt"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Compared says whether a ledger still agrees with an earlier report.
type Compared string

// The results of [Statement.Compare].
const (
	Same Compared = "SAME" // same ledger state and same bytes
	// Grown means that the ledger has new records, and that nothing contradicts the report.
	Grown    Compared = "GROWN"
	Diverged Compared = "DIVERGED" // the ledger lacks the state of the report
	Differs  Compared = "DIFFERS"  // the ledger has that state but gives another report
)

const maxLastingOrders = 1000

// Compare reports whether a ledger still agrees with the daily report that s describes. verified is
// the result of [verifier.Verify] for the time range and the silence in s.
func (s Statement) Compare(ctx context.Context, r *ledger.Reader, verified verifier.Report) (Compared, error) {
	origin, err := ledger.Origin(r.Tenant())
	if err != nil {
		return "", err
	}
	c, err := checkpointOf(verified)
	if err != nil {
		return "", err
	}
	if origin != s.Origin || c.Size < s.Size || c.Number < s.Number {
		return Diverged, nil
	}
	root, err := r.Tree().RootAt(ctx, s.Size)
	if err != nil {
		return "", err
	}
	if root != s.Root {
		return Diverged, nil
	}
	now, err := Of(ctx, r, verified, s.Silence)
	if err != nil {
		return "", err
	}
	if events.HashOf([]byte(verified.Checkpoint.Note)) == s.Checkpoint {
		return s.compareSame(now)
	}
	return s.compareLasting(ctx, r, verified)
}

func (s Statement) compareSame(now Report) (Compared, error) {
	if now.Facts != nil { // a later cosignature does not change the ledger
		now.Facts.Witnessed, now.Facts.Cosignatures = s.Witnessed, s.Cosignatures
	}
	// Earlier versions wrote ExitIncomplete into reports of a time range without events, so this is
	// no difference.
	if now.Verdict.Completeness == verifier.Empty && s.Exit == verifier.ExitIncomplete && now.Exit == verifier.ExitVerified {
		now.Exit, now.Verdict.Exit = s.Exit, s.Exit
	}
	same, err := s.has(now)
	if !same && err == nil && now.Facts != nil && now.Facts.Finished.NotCounted > 0 {
		now.Facts.Finished.NotCounted = 0 // earlier versions did not state it
		same, err = s.has(now)
	}
	switch {
	case err != nil:
		return "", err
	case same:
		return Same, nil
	}
	return Differs, nil
}

func (s Statement) has(r Report) (bool, error) {
	data, err := r.JSON()
	return events.HashOf(data) == s.JSON, err
}

func (s Statement) compareLasting(ctx context.Context, r *ledger.Reader, verified verifier.Report) (Compared, error) {
	if s.Integrity != verifier.Verified || len(verified.Redacted.Orders) >= maxLastingOrders {
		return Grown, nil
	}
	f, err := factsOf(ctx, r, verified, ledger.Checkpoint{Size: s.Size, Number: s.Number})
	if err != nil {
		return "", fmt.Errorf("report: %w", err)
	}
	lasting, err := Report{Facts: f}.lasting()
	if err != nil {
		return "", err
	}
	if lasting != s.Lasting {
		return Differs, nil
	}
	return Grown, nil
}
