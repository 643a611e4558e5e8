package provider

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// BudgetOptions say what may be spent. Limit and Prices are required.
type BudgetOptions struct {
	Limit   float64          // in the currency of Prices
	Prices  map[string]Price // by model; in a name '*' is any run of characters
	File    string           // keeps what was spent; empty: it is forgotten with the process
	DenyAt  float64          // share of the limit from which no sub-agent starts; 0.9 by default
	CheapAt float64          // share of the limit from which they get Cheap; 0.7 by default
	Cheap   string           // the model to use then; empty: no other
	Report  BudgetReporter   // told at the end of each session; nil: nobody
}

// Budget keeps agents from spending more than they may: from 70 % of its limit on
// sub-agents get a cheaper model, from 90 % on none starts.
//
// It counts what sub-agents have used when they stop, and what [Budget.Spend] is
// told. What runs at the same time is not known before it stops, so that the
// limit can be passed by as much as that.
//
// With a file, what was spent survives restarts, and processes that name the same
// file share one budget. What cannot be written there fails the hook, stays known
// in this process and is written with the next.
type Budget struct {
	opts   BudgetOptions
	prices prices

	mu   sync.Mutex // guards owed; held while the file is read and written
	owed spending   // not in the file, or all where there is none
}

// NewBudget returns a Budget. It fails if the options make no sense, or if the
// file is there and cannot be read: what was spent is not forgotten by accident.
func NewBudget(opts BudgetOptions) (*Budget, error) {
	if opts.DenyAt == 0 {
		opts.DenyAt = 0.9
	}
	if opts.CheapAt == 0 {
		opts.CheapAt = 0.7
	}
	switch {
	case !(opts.Limit > 0): // NaN too
		return nil, fmt.Errorf("budget: limit %v", opts.Limit)
	case !(opts.DenyAt > 0), !(opts.CheapAt > 0):
		return nil, fmt.Errorf("budget: shares %v and %v", opts.DenyAt, opts.CheapAt)
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

// Name is "budget".
func (*Budget) Name() string { return "budget" }

// Register registers b. Its hooks block when they fail: where nobody knows what
// was spent, no sub-agent starts.
func (b *Budget) Register(r *hooks.Registry, opts ...hooks.Option) ([]hooks.ID, error) {
	plain := struct {
		hooks.Named
		hooks.SubagentStarter
		hooks.SubagentStopper
		hooks.SessionEnder
	}{b, b, b, b}
	return r.Use(plain, append([]hooks.Option{hooks.OnFailure(hooks.Block)}, opts...)...)
}

// SubagentStart denies a sub-agent that the budget is too small for, or gives it
// a cheaper model.
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

// SubagentStop counts what a sub-agent has used.
func (b *Budget) SubagentStop(ctx context.Context, _ hooks.Meta, data events.SubagentStoppedData) error {
	used := events.Tokens{Output: data.TotalTokens} // the dearest that it can have been
	if data.TokensUsed != nil {
		used = *data.TokensUsed
	}
	return b.Spend(ctx, data.Model, used)
}

// SessionEnd reports.
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

// Spend counts tokens of a model that have been used. If it fails, they count in
// this process until they can be written.
func (b *Budget) Spend(ctx context.Context, model string, used events.Tokens) error {
	if used == (events.Tokens{}) {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.owed.add(model, used, max(0, b.prices.of(model).Of(used)))
	if b.opts.File == "" {
		return nil
	}
	if err := settle(ctx, b.opts.File, b.owed); err != nil {
		return fmt.Errorf("keep what was spent: %w", err)
	}
	b.owed = spending{}
	return nil
}

// Spent returns what was spent.
func (b *Budget) Spent() (float64, error) {
	all, err := b.total()
	return all.Spent, err
}

// total returns all that was spent.
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
	all.merge(b.owed)
	return all, nil
}

// errSpending is why a file is no record of what was spent.
var errSpending = errors.New("not a record of spending")
