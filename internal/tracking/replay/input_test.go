package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/rulestest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// FuzzInput checks that each line is folded or reported, and that folding is deterministic.
func FuzzInput(f *testing.F) {
	for _, e := range rulestest.Story(f) {
		f.Add(append(e.Encode(), '\n'))
	}
	f.Add([]byte("{}\n\xff\n{\"specversion\":\"1.0\",\"id\":\"a\",\"source\":\"s\",\"type\":\"t\"}"))
	f.Add([]byte("\f\n\u0085\n \t\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		taken, reported, once := foldLines(t, data)
		if _, _, again := foldLines(t, data); !bytes.Equal(once, again) {
			t.Errorf("the same input gives\n%s\nand\n%s", once, again)
		}
		lines := 0
		for line := range bytes.Lines(bytes.TrimPrefix(data, []byte("\ufeff"))) {
			if len(bytes.Trim(line, " \t\r\n")) > 0 { // JSON's white space
				lines++
			}
		}
		// Invalid UTF-8 is reported, repaired and folded.
		if taken > lines || taken+reported > 2*lines {
			t.Errorf("%d lines: %d folded, %d reported", lines, taken, reported)
		}
	})
}

func foldLines(t *testing.T, data []byte) (taken, reported int, decided []byte) {
	t.Helper()
	in, err := openLines(t.Context(), stdinPath, bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var (
		bad   Faults
		state = rules.NewState(nil)
		all   []rules.Decision
	)
	for e, err := range in.events(t.Context(), "default", silent{}) {
		if err != nil {
			if !bad.add(err) {
				t.Fatal(err)
			}
			continue
		}
		taken++
		list, err := state.Apply(e, rules.DefaultConfig())
		if err != nil {
			t.Errorf("event %s cannot be folded: %v", e.ID, err)
		}
		all = append(all, list...)
	}
	list, err := state.Release(rules.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	decided, err = json.Marshal(append(all, list...))
	if err != nil {
		t.Fatal(err)
	}
	return taken, bad.count, decided
}

func BenchmarkReplay(b *testing.B) {
	for b.Loop() {
		f, err := New(rules.DefaultConfig())
		if err != nil {
			b.Fatal(err)
		}
		for i := range 10_000 {
			at := i * 2
			e := rulestest.At(b, "acme", fmt.Sprintf("r%d", i), at, events.RunFinished, events.RunFinishedData{
				Success: i%10 != 0, Error: &events.Failure{Message: "no " + strings.Repeat("x", i/10%50)},
			})
			e.RunType = "REVIEW"
			if err := f.take(e); err != nil {
				b.Fatal(err)
			}
		}
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/10_000/float64(time.Microsecond), "µs/event")
}
