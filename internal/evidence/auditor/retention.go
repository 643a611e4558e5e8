package auditor

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const (
	day       = 24 * time.Hour
	pruneEach = time.Hour // how often is looked for what is past its retention
	forever   = "forever"
)

// ParseKeep reads a rule of retention: "tool.*=90d", "prompt.submit=26w",
// "issue.*=forever", "*=7y". A day has 24 hours, a week 7 days, a year 365.
func ParseKeep(text string) (ledger.Keep, error) {
	kind, age, ok := strings.Cut(text, "=")
	if _, err := path.Match(kind, ""); !ok || kind == "" || err != nil {
		return ledger.Keep{}, fmt.Errorf("%q is no rule; want a pattern of kinds and an age, such as tool.*=90d", text)
	}
	if age == forever {
		return ledger.Keep{Kind: kind}, nil
	}
	d, err := parseAge(age)
	if err != nil || d <= 0 {
		return ledger.Keep{}, fmt.Errorf("%q: %q is no age; want 90d, 26w, 7y, 12h or %s", text, age, forever)
	}
	return ledger.Keep{Kind: kind, Age: d}, nil
}

// parseAge reads a duration that may be in days, weeks or years.
func parseAge(text string) (time.Duration, error) {
	for unit, length := range map[string]time.Duration{"d": day, "w": 7 * day, "y": 365 * day} {
		number, ok := strings.CutSuffix(text, unit)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(number, 10, 32)
		if err != nil || n > int64(1<<62/length) {
			return 0, errors.New("not a number of days")
		}
		return time.Duration(n) * length, nil
	}
	return time.ParseDuration(text)
}

// Retention are the flags that say how long payloads are kept.
type Retention struct{ rules keepRules }

// Register adds the flags to cmd.
func (r *Retention) Register(cmd *cobra.Command) { cmd.Flags().Var(&r.rules, "keep", keepUsage) }

// Apply sets o to what the flags say.
func (r *Retention) Apply(o *Options) { o.Keep = r.rules }

// keepRules are rules of retention as a flag takes them, one each time.
type keepRules []ledger.Keep

// String implements pflag.Value.
func (k *keepRules) String() string {
	texts := make([]string, 0, len(*k))
	for _, r := range *k {
		texts = append(texts, r.String())
	}
	return strings.Join(texts, ",")
}

// Set implements pflag.Value.
func (k *keepRules) Set(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		r, err := ParseKeep(part)
		if err != nil {
			return err
		}
		*k = append(*k, r)
	}
	return nil
}

// Type implements pflag.Value.
func (k *keepRules) Type() string { return "kinds=age" }

// pruner orders what is past its retention to be pruned.
type pruner struct {
	p       *projected
	waiting map[string]string // by tenant, the last order that has not come yet
}

func newPruner(p *projected) *pruner {
	return &pruner{p: p, waiting: make(map[string]string)}
}

// run looks for what is past its retention until ctx ends.
func (r *pruner) run(ctx context.Context) {
	if len(r.p.opts.Keep) == 0 {
		return
	}
	tick := time.NewTicker(pruneEach)
	defer tick.Stop()
	for {
		if err := r.all(ctx); err != nil && ctx.Err() == nil {
			r.p.opts.Logger.WarnContext(ctx, "what is past its retention was not pruned", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// all orders what is past its retention now, in all ledgers.
func (r *pruner) all(ctx context.Context) error {
	if len(r.p.opts.Keep) == 0 || r.p.keepers.StandsBy() {
		return nil
	}
	tenants, err := r.p.opts.tenants()
	for _, tenant := range tenants {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		err = errors.Join(err, r.tenant(ctx, tenant))
	}
	return err
}

func (r *pruner) tenant(ctx context.Context, tenant string) (err error) {
	reader, err := ledger.OpenTenant(LedgerDir(r.p.opts.DataDir), tenant)
	if errors.Is(err, ledger.ErrDamaged) {
		return nil // it is held back, and that is said elsewhere
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	if id := r.waiting[tenant]; id != "" {
		if _, came, err := reader.Came(ctx, id); err != nil || !came {
			return err
		}
		delete(r.waiting, tenant)
	}
	orders, err := expired(ctx, reader, r.p.opts.Keep, r.p.opts.now())
	if err != nil || len(orders) == 0 {
		return err
	}
	ids, err := giveOrders(ctx, r.p.opts.DataDir, orders)
	if len(ids) > 0 {
		r.waiting[tenant] = ids[len(ids)-1]
	}
	return err
}

// expired returns what is past its retention, as orders that can be given.
func expired(ctx context.Context, r *ledger.Reader, rules []ledger.Keep, now time.Time) (orders []ledger.Order, err error) {
	found, err := r.Expired(ctx, rules, now)
	for _, o := range found {
		o.ID, o.By = events.NewID(), "retention"
		orders = append(orders, o)
	}
	return orders, err
}
