package runtree

import (
	"fmt"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// The stated total of a run counts more than costs of telemetry, and these more than an estimate, but
// only if telemetry saw the whole run.
func TestTrace_Cost(t *testing.T) {
	answer := func(id string, telemetry bool, usd float64) events.ResponseCompletedData {
		d := events.ResponseCompletedData{Message: id, Telemetry: telemetry, TokensUsed: &events.Tokens{Input: 1}}
		if usd > 0 {
			d.Cost = &events.Cost{USD: usd}
		}
		return d
	}
	end := func(usd float64, estimated bool) events.RunFinishedData {
		return events.RunFinishedData{Success: true, Cost: &events.Cost{USD: usd, Estimated: estimated}}
	}
	a, b := answer("t1", true, 0.25), answer("t2", true, 0.5)
	x, y, z := answer("x", false, 0), answer("y", false, 0), answer("z", false, 0)
	for name, tt := range map[string]struct {
		list []any
		want string
	}{
		"telemetry only":       {[]any{a, b}, "0.75 false"},
		"with a stated total":  {[]any{a, b, x, y, end(2, false)}, "2 false"},
		"with an estimate":     {[]any{a, b, x, y, end(2, true)}, "0.75 false"},
		"telemetry of a part":  {[]any{a, b, x, y, z, end(2, true)}, "2 true"},
		"estimate only":        {[]any{x, end(2, true)}, "2 true"},
		"unknown":              {[]any{x}, "unknown"},
		"stated by the answer": {[]any{answer("x", false, 3)}, "3 false"},
	} {
		var f Fold
		for i, data := range tt.list {
			kind := events.ResponseCompleted
			if _, ok := data.(events.RunFinishedData); ok {
				kind = events.RunFinished
			}
			e, err := events.New(kind, "s", data)
			if err != nil {
				t.Fatal(err)
			}
			e.Run, e.Time = "r", time.Unix(int64(i), 0)
			f.Add(e)
		}
		got := "unknown"
		if c := f.Trace("r").Cost; c != nil {
			got = fmt.Sprint(c.USD, " ", c.Estimated)
		}
		if got != tt.want {
			t.Errorf("%s: got %s, want %s", name, got, tt.want)
		}
	}
}
