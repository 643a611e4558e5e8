package provider

import (
	"errors"
	"fmt"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// Price is the price of a million tokens in the currency of the budget.
type Price struct {
	Input         float64
	Output        float64
	CacheRead     float64 // 0 for the price of Input
	CacheCreation float64 // 0 for the price of Input
}

// Of returns the cost of the tokens t.
func (p Price) Of(t events.Tokens) float64 {
	return t.Cost(p.Input, p.Output, p.CacheRead, p.CacheCreation)
}

type prices struct {
	exact    map[string]Price
	patterns []priced
	dearest  Price // highest price of all models, for each kind of token
}

type priced struct {
	pattern string
	models  hooks.Matcher
	price   Price
}

func newPrices(table map[string]Price) (prices, error) {
	p := prices{exact: table}
	if len(table) == 0 {
		return p, errors.New("no prices")
	}
	for name, price := range table {
		for _, v := range []float64{price.Input, price.Output, price.CacheRead, price.CacheCreation} {
			if v < 0 || v != v || v > 1e12 {
				return p, fmt.Errorf("invalid price of %q: %v", name, v)
			}
		}
		m, err := hooks.ForTool(name) // the patterns of tool names work for model names too
		if err != nil {
			return p, fmt.Errorf("price of %q: %w", name, err)
		}
		p.patterns = append(p.patterns, priced{name, m, price})
		p.dearest.Input = max(p.dearest.Input, price.Input, price.CacheRead, price.CacheCreation)
		p.dearest.Output = max(p.dearest.Output, price.Output)
	}
	return p, nil
}

// of gives an unknown model the highest known price, so that no model is free.
func (p prices) of(model string) Price {
	if price, ok := p.exact[model]; ok {
		return price
	}
	best, length := p.dearest, 0
	for _, c := range p.patterns {
		if len(c.pattern) > length && c.models.Match(hooks.Meta{}, hooks.Subject{Tool: model}) {
			best, length = c.price, len(c.pattern)
		}
	}
	return best
}
