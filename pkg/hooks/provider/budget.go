package provider

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// BudgetOptions configure a [Budget]. Limit and Prices are required.
type BudgetOptions struct {
	Limit   float64          // in the currency of Prices
	Prices  map[string]Price // by model name; '*' is any run of characters
	File    string           // stores the spending; empty keeps it in memory only
	DenyAt  float64          // share of the limit; 0.9 by default
	CheapAt float64          // share of the limit; 0.7 by default
	Cheap   string           // cheaper model; empty changes no model
	Report  BudgetReporter   // called at the end of each session; nil reports nothing
}

// Budget limits the spending of agents. From CheapAt of the limit sub-agents get
// a cheaper model, and from DenyAt they are denied.
//
// It counts the tokens of each sub-agent at its end, and the tokens passed to
// [Budget.Spend]. Running sub-agents are not counted, so they can exceed the
// limit.
//
// With a file the spending survives restarts, and processes with the same file
// share one budget. A failed write fails the hook.
type Budget struct {
	opts   BudgetOptions
	prices prices

	mu      sync.Mutex // guards unsaved; held while the file is read and written
	unsaved spending   // not in the file
}

// NewBudget returns a Budget. It fails if the options are invalid or if an
// existing file cannot be read.
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

// Register registers b. Its hooks have the failure mode Block, so no sub-agent
// starts while the spending is unknown.
func (b *Budget) Register(r *hooks.Registry, opts ...hooks.Option) ([]hooks.ID, error) {
	plain := struct {
		hooks.Named
		hooks.SubagentStarter
		hooks.SubagentStopper
		hooks.SessionEnder
	}{b, b, b, b}
	return r.Use(plain, append([]hooks.Option{hooks.OnFailure(hooks.Block)}, opts...)...)
}

// SubagentStart denies a sub-agent from DenyAt on, and selects the cheaper
// model from CheapAt on.
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

// SubagentStop counts the tokens of a sub-agent.
func (b *Budget) SubagentStop(ctx context.Context, _ hooks.Meta, data events.SubagentStoppedData) error {
	used := events.Tokens{Output: data.TotalTokens} // the kind that usually costs most
	if data.TokensUsed != nil {
		used = *data.TokensUsed
	}
	return b.Spend(ctx, data.Model, used)
}

// SessionEnd sends the report.
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

// Spend counts used tokens of a model. If the write fails, they count in this
// process until a later write succeeds.
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
