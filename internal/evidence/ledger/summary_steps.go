package ledger

import (
	"maps"
	"slices"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

type stepEnd struct {
	status events.StepStatus
	at     time.Time
	tokens *events.Tokens
}

func (f *runFold) stepFinished(e events.Event, d events.StepFinishedData) {
	key := f.key(e.Step)
	end := f.steps[key]
	switch {
	case e.Time.After(end.at) || end.status == "":
		end.status, end.at = d.StepStatus, e.Time
	case e.Time.Equal(end.at):
		end.status = end.status.Stronger(d.StepStatus)
	}
	if d.TokensUsed != nil {
		end.tokens = d.TokensUsed
	}
	f.steps[key] = end
}

func (f *runFold) reported(key string, used *events.Tokens) {
	if f.telemetry == nil {
		f.telemetry = make(map[string]events.Tokens)
	}
	var tokens events.Tokens
	if used != nil {
		tokens = *used
	}
	f.telemetry[key] = tokens
}

// spent adds up only one kind of event, because several kinds report the same tokens.
func (f *runFold) spent() (sum events.Tokens) {
	for _, t := range f.tokens {
		sum = sum.Plus(t)
	}
	if sum != (events.Tokens{}) {
		return sum
	}
	for _, step := range f.steps {
		if step.tokens != nil {
			sum = sum.Plus(*step.tokens)
		}
	}
	if sum == (events.Tokens{}) {
		for _, t := range f.telemetry {
			sum = sum.Plus(t)
		}
	}
	if sum == (events.Tokens{}) && f.sum.Finished != nil && f.sum.Finished.TokensUsed != nil {
		return *f.sum.Finished.TokensUsed
	}
	return sum
}

func (f *runFold) paid() *events.Cost {
	var total *events.Cost
	if f.billed != nil {
		total = f.billed.Data.Cost
	}
	var told, others float64
	for _, key := range slices.Sorted(maps.Keys(f.costs)) { // a sum of fractions depends on their order
		if _, ok := f.telemetry[key]; ok {
			told += f.costs[key]
		} else {
			others += f.costs[key]
		}
	}
	switch {
	case total != nil && !total.Estimated:
	case told > 0 && len(f.telemetry) >= len(f.tokens):
		return &events.Cost{USD: told}
	case total == nil && others > 0:
		return &events.Cost{USD: others}
	}
	return total
}
