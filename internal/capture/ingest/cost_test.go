package ingest_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/capture/prices"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func table(date string, input float64) *prices.Table {
	return &prices.Table{Date: date, Source: "a test", Models: map[string]prices.Price{"m": {Input: input, Output: 2}}}
}

// answer is a version of an answer of the model. Only the latest version of an answer counts.
type answer struct {
	message, model string
	tokens         *events.Tokens
	told           *events.Cost
}

func endOf(t *testing.T, opts ingest.Options, told *events.Cost, answers ...answer) events.Event {
	t.Helper()
	opts.Tenant = "t"
	list, _ := collect(opts, func(m *ingest.Emitter) {
		r := m.Run(ingest.Identity{Run: "r", Agent: "tool"}, at("0", 0), events.RunStartedData{})
		r.Cost = told
		for i, a := range answers {
			if a.tokens != nil {
				r.Spend(*a.tokens)
			}
			r.Emit(at(string(rune('1'+i)), i), events.ResponseCompleted, "", events.ResponseCompletedData{
				Message: a.message, Model: a.model, TokensUsed: a.tokens, Cost: a.told,
			})
		}
		m.Finish()
	})
	return list[len(list)-1]
}

func TestRun_Cost(t *testing.T) {
	million := &events.Tokens{Input: 1e6, Output: 1e6}
	estimate := func(usd float64) *events.Cost { return &events.Cost{USD: usd, Estimated: true, Prices: "d"} }
	for name, tt := range map[string]struct {
		told    *events.Cost
		answers []answer
		want    *events.Cost
	}{
		"Nothing":   {},
		"NoTokens":  {answers: []answer{{message: "1", model: "m"}}},
		"Estimated": {answers: []answer{{"1", "m", million, nil}, {"2", "m", million, nil}}, want: estimate(6)},
		"Repeated":  {answers: []answer{{"1", "m", &events.Tokens{Input: 1}, nil}, {"1", "m", million, nil}}, want: estimate(3)},
		"Unknown":   {answers: []answer{{"1", "m", million, nil}, {"2", "other", million, nil}}},
		"Told":      {answers: []answer{{"1", "other", million, ingest.Told(0.5)}, {"2", "", nil, ingest.Told(0.25)}}, want: &events.Cost{USD: 0.75}},
		"Mixed":     {answers: []answer{{"1", "x", million, ingest.Told(0.5)}, {"2", "m", million, nil}}, want: estimate(3.5)},
		"OfTheRun":  {told: ingest.Told(9), answers: []answer{{"1", "m", million, nil}}, want: &events.Cost{USD: 9}},
		"Absurd":    {told: ingest.Told(math.Inf(1))},
		"Negative":  {told: ingest.Told(-1)},
	} {
		end := endOf(t, ingest.Options{Prices: table("d", 1)}, tt.told, tt.answers...)
		data, err := events.Payload[events.RunFinishedData](end)
		if diff := cmp.Diff(tt.want, data.Cost); diff != "" || err != nil {
			t.Errorf("%s: (-want +got):\n%s %v", name, diff, err)
		}
	}
}

// The sum of many answers is the same each time.
func TestRun_CostIsStable(t *testing.T) {
	var answers []answer
	for i := range 9 {
		answers = append(answers, answer{string(rune('a' + i)), "m", &events.Tokens{Input: int64(1 + 7*i), Output: int64(13 * i)}, nil})
	}
	for range 20 {
		a, b := endOf(t, ingest.Options{Prices: table("d", 0.1)}, nil, answers...), endOf(t, ingest.Options{Prices: table("d", 0.1)}, nil, answers...)
		if string(a.Data) != string(b.Data) {
			t.Fatalf("got %s and %s", a.Data, b.Data)
		}
	}
}

// The end of a longer input prices all answers with the table of its import.
func TestRun_CostOfLongerInput(t *testing.T) {
	million := &events.Tokens{Input: 1e6}
	short := endOf(t, ingest.Options{Prices: table("d", 1)}, nil, answer{"1", "m", million, nil})
	long := endOf(t, ingest.Options{Prices: table("e", 7)}, nil, answer{"1", "m", million, nil}, answer{"2", "m", million, nil})
	data, err := events.Payload[events.RunFinishedData](long)
	if diff := cmp.Diff(&events.Cost{USD: 14, Estimated: true, Prices: "e"}, data.Cost); diff != "" || err != nil || short.ID == long.ID {
		t.Errorf("(-want +got):\n%s %v", diff, err)
	}
}

// Prices change, so the id of an event does not depend on an estimate.
func TestRun_CostIsNotPartOfTheID(t *testing.T) {
	a := answer{"1", "m", &events.Tokens{Input: 1}, nil}
	without, first, second := endOf(t, ingest.Options{}, nil, a), endOf(t, ingest.Options{Prices: table("d", 1)}, nil, a), endOf(t, ingest.Options{Prices: table("e", 7)}, nil, a)
	if without.ID != first.ID || first.ID != second.ID || string(first.Data) == string(second.Data) {
		t.Errorf("got %s, %s and %s", without.ID, first.ID, second.ID)
	}
}
