package ingest

import (
	"maps"
	"slices"

	"github.com/hooktrail/hooktrail/internal/capture/prices"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const maxCost = 1e9

// Told converts a cost in US dollars that an input states. It returns nil for 0, because agents
// write 0 for models whose price they do not know.
func Told(usd float64) *events.Cost {
	if !(usd > 0 && usd <= maxCost) {
		return nil
	}
	return &events.Cost{USD: usd}
}

type bills map[string]events.ResponseCompletedData

func (b bills) add(data events.ResponseCompletedData) {
	if data.TokensUsed == nil && data.Cost == nil {
		return
	}
	b[data.Message] = events.ResponseCompletedData{Model: data.Model, TokensUsed: data.TokensUsed, Cost: data.Cost}
}

func (b bills) cost(table *prices.Table) *events.Cost {
	var sum events.Cost
	for _, message := range slices.Sorted(maps.Keys(b)) { // a sum of fractions depends on their order
		answer := b[message]
		switch {
		case answer.Cost != nil:
			sum.USD += answer.Cost.USD
			continue
		case *answer.TokensUsed == (events.Tokens{}):
			continue
		case table == nil:
			return nil
		}
		usd, ok := table.Of(answer.Model, *answer.TokensUsed)
		if !ok {
			return nil
		}
		sum.USD += usd
		sum.Estimated, sum.Prices = true, table.Date
	}
	if sum.USD == 0 {
		return nil
	}
	return &sum
}
