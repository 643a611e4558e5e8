package provider

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// BudgetReport summarises the spending.
type BudgetReport struct {
	Tenant  string                  `json:"tenant,omitempty"`
	Session string                  `json:"session,omitempty"` // the session that ended
	Limit   float64                 `json:"limit"`
	Spent   float64                 `json:"spent"`
	Share   float64                 `json:"share"`  // share of the limit, 1 for the whole limit
	Models  []ModelSpending         `json:"models"` // most expensive first
	Ended   events.SessionEndedData `json:"ended"`
}

// ModelSpending is the spending on one model.
type ModelSpending struct {
	Model  string        `json:"model"`
	Tokens events.Tokens `json:"tokens"`
	Spent  float64       `json:"spent"`
}

// BudgetReporter receives a report of the spending at the end of each session.
type BudgetReporter func(context.Context, BudgetReport) error

// Report returns the spending so far.
func (b *Budget) Report() (BudgetReport, error) {
	all, err := b.total()
	if err != nil {
		return BudgetReport{}, err
	}
	r := BudgetReport{Limit: b.opts.Limit, Spent: all.Spent, Share: all.Spent / b.opts.Limit, Models: []ModelSpending{}}
	for _, model := range slices.Sorted(maps.Keys(all.Models)) {
		u := all.Models[model]
		r.Models = append(r.Models, ModelSpending{Model: model, Tokens: u.Tokens, Spent: u.Spent})
	}
	slices.SortStableFunc(r.Models, func(a, b ModelSpending) int { return cmp.Compare(b.Spent, a.Spent) })
	return r, nil
}

// ReportTo returns a reporter that writes each report to w as one line of JSON.
func ReportTo(w io.Writer) BudgetReporter {
	var mu sync.Mutex // serialises writes, so that lines are not mixed
	return func(_ context.Context, r BudgetReport) error {
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		_, err = w.Write(append(line, '\n'))
		return err
	}
}
