package provider

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// BudgetOptions configures a [Budget]. Limit and Prices are required.
type BudgetOptions struct {
	Limit   float64          // in the currency of Prices
	Prices  map[string]Price // prices by model name, in which '*' matches any characters
	File    string           // stores the spending, empty to keep it in memory
	DenyAt  float64          // share of the limit, default 0.9
	CheapAt float64          // share of the limit, default 0.7
	Cheap   string           // name of the cheaper model, empty for no other model
	Report  BudgetReporter   // called at the end of each session, nil for no report
}

// Budget limits the spending of agents. When the spending reaches CheapAt, sub-agents get a cheaper
// model. At DenyAt, no sub-agent can start. Both are shares of the limit.
//
// Budget counts the tokens of a sub-agent at its end, so running sub-agents can exceed the limit.
// [Budget.Spend] adds other tokens. With File, the spending survives restarts, and processes with
// the same file share one budget. If a write to the file fails, the hook fails.
type Budget struct {
	opts   BudgetOptions
	prices prices

	mu      sync.Mutex // guards unsaved and the file
	unsaved spending   // not in the file yet
}

// NewBudget returns a Budget. It fails if the options are invalid, or if opts.File exists and
// cannot be read.
func NewBudget(opts BudgetOptions) (*Budget, error) {
	if opts.DenyAt == 0 {
		opts.DenyAt = 0.9
	}
	if opts.CheapAt == 0 {
		opts.CheapAt = 0.7
	}
	switch {
	case !(opts.Limit > 0): // also rejects NaN
		return nil, fmt.Errorf("budget: invalid limit %v", opts.Limit)
	case !(opts.DenyAt > 0), !(opts.CheapAt > 0):
		return nil, fmt.Errorf("budget: invalid shares %v and %v", opts.DenyAt, opts.CheapAt)
	}
	table, err := newPrices(opts.Prices)
	if err != nil {
		return nil, fmt.Errorf("budget: %w", err)
	}
	b := &Budget{opts: opts, prices: table}
	if _, err := b.total(); err != nil {
		return nil, fmt.Errorf("budget: %w", err)
	}
	return b, nil
}

// Name returns "budget".
func (*Budget) Name() string { return "budget" }

// Register registers the hooks of b. They have the failure mode Block, so no sub-agent can start
// while the spending is unknown.
func (b *Budget) Register(r *hooks.Registry, opts ...hooks.Option) ([]hooks.ID, error) {
	plain := struct {
		hooks.Named
		hooks.SubagentStarter
		hooks.SubagentStopper
		hooks.SessionEnder
	}{b, b, b, b}
	return r.Use(plain, append([]hooks.Option{hooks.OnFailure(hooks.Block)}, opts...)...)
}

// SubagentStart denies a sub-agent if the share of the budget that is spent has reached DenyAt.
// From the share CheapAt, it gives the sub-agent the cheaper model.
func (b *Budget) SubagentStart(_ context.Context, _ hooks.Meta, s hooks.Subagent) (*hooks.SubagentDecision, error) {
	spent, err := b.Spent()
	if err != nil {
		return nil, err
	}
	switch share := spent / b.opts.Limit; {
	case share >= b.opts.DenyAt:
		return hooks.DenySubagent(fmt.Sprintf("Budget %.0f%% consumed. Pausing spawns.", 100*share)), nil
	case share >= b.opts.CheapAt && b.opts.Cheap != "" && s.Model != b.opts.Cheap:
		return hooks.ModifySubagent(b.opts.Cheap), nil
	}
	return hooks.NoOpinion[hooks.SubagentDecision](), nil
}

// SubagentStop adds the cost of the sub-agent's tokens to the spending.
func (b *Budget) SubagentStop(ctx context.Context, _ hooks.Meta, data events.SubagentStoppedData) error {
	used := events.Tokens{Output: data.TotalTokens} // priced as output, because the kind is unknown
	if data.TokensUsed != nil {
		used = *data.TokensUsed
	}
	return b.Spend(ctx, data.Model, used)
}

// SessionEnd passes a report of the spending to Report of the options.
func (b *Budget) SessionEnd(ctx context.Context, meta hooks.Meta, data events.SessionEndedData) error {
	if b.opts.Report == nil {
		return nil
	}
	report, err := b.Report()
	if err != nil {
		return err
	}
	report.Tenant, report.Session, report.Ended = meta.Tenant, meta.Session, data
	return b.opts.Report(ctx, report)
}

// Spend adds the cost of tokens to the spending and writes it to the file of the budget. If the
// write fails, the next call of Spend repeats it.
func (b *Budget) Spend(ctx context.Context, model string, used events.Tokens) error {
	if used == (events.Tokens{}) {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unsaved.add(model, used, max(0, b.prices.of(model).Of(used)))
	if b.opts.File == "" {
		return nil
	}
	if err := addToFile(ctx, b.opts.File, b.unsaved); err != nil {
		return fmt.Errorf("save the spending: %w", err)
	}
	b.unsaved = spending{}
	return nil
}

// Spent returns the total spending.
func (b *Budget) Spent() (float64, error) {
	all, err := b.total()
	return all.Spent, err
}

func (b *Budget) total() (spending, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all spending
	if b.opts.File != "" {
		var err error
		if all, err = readSpending(b.opts.File); err != nil {
			return all, err
		}
	}
	all.merge(b.unsaved)
	return all, nil
}

var errSpending = errors.New("not a record of spending")
