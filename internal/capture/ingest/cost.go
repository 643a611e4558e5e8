package ingest

import (
	"github.com/hooktrail/hooktrail/pkg/events"
)

// maxCost limits a cost in US dollars, so that sums stay meaningful.
const maxCost = 1e9

// Told returns a cost that the input states, or nil if it states none. A cost of 0 counts as
// none, because tools write it for models whose price they do not know.
func Told(usd float64) *events.Cost {
	if !(usd > 0 && usd <= maxCost) {
		return nil
	}
	return &events.Cost{USD: usd}
}

// bill notes an answer of the model. The latest version of an answer counts.
func (r *Run) bill(data events.ResponseCompletedData) {
	if data.TokensUsed == nil && data.Cost == nil {
		return
	}
	if r.bills == nil {
		r.bills = map[string]events.ResponseCompletedData{}
	}
	r.bills[data.Message] = events.ResponseCompletedData{Model: data.Model, TokensUsed: data.TokensUsed, Cost: data.Cost}
}

// cost returns the sum of the answers, or nil if the cost of an answer is unknown. It
// estimates the cost of answers without one.
func (r *Run) cost() *events.Cost {
	var sum events.Cost
	for _, b := range r.bills {
		switch {
		case b.Cost != nil:
			sum.USD += b.Cost.USD
			continue
		case *b.TokensUsed == (events.Tokens{}):
			continue
		case r.m.opts.Prices == nil:
			return nil
		}
		usd, ok := r.m.opts.Prices.Of(b.Model, *b.TokensUsed)
		if !ok {
			return nil
		}
		sum.USD += usd
		sum.Estimated, sum.Prices = true, r.m.opts.Prices.Date
	}
	if sum.USD == 0 {
		return nil
	}
	return &sum
}
