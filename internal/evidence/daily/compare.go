package daily

import (
	"context"
	"fmt"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Compared says how a report fits to a ledger.
type Compared string

// The results of [Statement.Compare].
const (
	Same     Compared = "SAME"     // the ledger is in the state of the report and yields the same bytes
	Grown    Compared = "GROWN"    // the ledger continues that state and has the same lasting facts
	Diverged Compared = "DIVERGED" // the ledger does not continue that state
	Differs  Compared = "DIFFERS"  // the ledger continues that state, but says something else
)

// maxLastingOrders is how many orders the verifier lists. With more, the orders of an old
// report are gone from the list.
const maxLastingOrders = 1000

// Compare compares a report with a ledger. verified is the result of [verifier.Verify] with
// the limits and the silence of the statement.
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
	data, err := now.JSON()
	if err != nil {
		return "", err
	}
	if events.HashOf(data) != s.JSON {
		return Differs, nil
	}
	return Same, nil
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
