package verifier_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/testkit/race"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// drawFeed returns a random complete history.
func drawFeed(rt *rapid.T) *ledgertest.Feed {
	f := ledgertest.NewFeed("acme")
	producers := []string{"a", "b/1", "c"}
	open := map[string][]string{}
	for step := range rapid.IntRange(1, 40).Draw(rt, "steps") {
		p := rapid.SampledFrom(producers).Draw(rt, "producer")
		switch rapid.IntRange(0, 6).Draw(rt, "what") {
		case 0:
			run := fmt.Sprint("run ", step)
			f.Event(p, run, events.RunStarted, events.RunStartedData{})
			open[p] = append(open[p], run)
		case 1, 2:
			for _, run := range open[p] {
				f.Event(p, run, events.ToolBefore, events.ToolBeforeData{Tool: "Bash"})
			}
		case 3:
			if len(open[p]) > 0 {
				run := open[p][0]
				f.Event(p, run, events.RunFinished, events.RunFinishedData{})
				f.Seal(p, run)
				if rapid.Bool().Draw(rt, "goes on") {
					f.Event(p, run, events.ToolBefore, events.ToolBeforeData{Tool: "Read"})
					f.Seal(p, run)
				}
				open[p] = open[p][1:]
			}
		case 4:
			f.Event(p, "", events.Custom, events.CustomData{Name: "x"})
		case 5:
			if e, ok := drawEvent(rt, f); ok {
				f.Publish("again", e)
				f.Manifest("again")
			}
		case 6:
			if n := len(f.Messages); n > 0 { // the first half of a batch arrived before
				from := rapid.IntRange(max(0, n-20), n-1).Draw(rt, "orphans")
				for _, m := range slices.Clone(f.Messages[from:]) {
					f.Add(m.Address, m.Data)
				}
			}
		}
		if rapid.Bool().Draw(rt, "manifest") && len(f.Source(p).Pending) > 0 {
			f.Manifest(p)
		}
	}
	for _, p := range producers {
		for _, run := range open[p] {
			f.Event(p, run, events.RunFinished, events.RunFinishedData{})
			f.Seal(p, run)
		}
		if len(f.Source(p).Pending) > 0 {
			f.Manifest(p)
		}
	}
	return f
}

func drawEvent(rt *rapid.T, f *ledgertest.Feed) (events.Event, bool) {
	if len(f.Messages) == 0 {
		return events.Event{}, false
	}
	e, err := events.Decode(rapid.SampledFrom(f.Messages).Draw(rt, "event").Data)
	return e, err == nil && e.Kind() != events.RunSealed
}

// writeDrawn writes the feed like a consumer that restarts.
func writeDrawn(tb testing.TB, rt *rapid.T, key *writer.Key, f *ledgertest.Feed) string {
	tb.Helper()
	dir := tb.TempDir()
	var path string
	for at := 0; at < len(f.Messages); {
		l, err := writer.Open(tb.Context(), dir, f.Tenant, writer.Options{Key: key, Now: f.At})
		if err != nil {
			rt.Fatal(err)
		}
		path = l.Path()
		for range rapid.IntRange(1, 5).Draw(rt, "batches") {
			from := max(0, at-rapid.IntRange(0, 10).Draw(rt, "again"))
			to := min(len(f.Messages), at+rapid.IntRange(1, 60).Draw(rt, "batch"))
			if _, err := l.Append(tb.Context(), ledgertest.Stream, f.Messages[from:to]); err != nil {
				rt.Fatal(err)
			}
			at = to
		}
		if err := l.Close(); err != nil {
			rt.Fatal(err)
		}
	}
	return path
}

//guarantee:verify-clean
func TestHistory_CleanOnesGiveNoAlarm(t *testing.T) {
	race.Draw(t, 100, 20)
	key := ledgertest.NewKey(t)
	rapid.Check(t, func(rt *rapid.T) {
		f := drawFeed(rt)
		if len(f.Messages) == 0 {
			return
		}
		once := ledgertest.Write(t, t.TempDir(), key, f, len(f.Messages))
		drawn := writeDrawn(t, rt, key, f)
		for _, path := range []string{once, drawn} {
			r := ledgertest.Verify(t, path, key, verifier.Options{Tenant: "acme"})
			if r.Exit != verifier.ExitVerified {
				rt.Fatalf("got %s and %s: %q, %+v, unsealed %q, %+v", r.Integrity, r.Completeness, r.Problems, r.Gaps, r.Unsealed, r.Producers)
			}
		}
		a, b := ledgertest.Newest(t, once), ledgertest.Newest(t, drawn)
		if a.Root != b.Root || a.Size != b.Size || a.Digest != b.Digest || a.Position != b.Position {
			rt.Fatalf("the batches show: %+v and %+v", a, b)
		}
	})
}
