package tracker

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/cli"
	"github.com/hooktrail/hooktrail/internal/issues"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// outcome is what whatif --json prints.
type outcome struct {
	Issues    []WhatifIssue    `json:"issues"`
	Decisions []WhatifDecision `json:"decisions"`
	Against   *Comparison      `json:"against"`
}

// jsonl writes events to a file, one per line.
func jsonl(tb testing.TB, list ...events.Event) string {
	tb.Helper()
	var b bytes.Buffer
	for _, e := range list {
		if err := e.Normalize(); err != nil {
			tb.Fatalf("event %s: %v", e.ID, err)
		}
		b.Write(append(e.Encode(), '\n'))
	}
	return file(tb, "events.jsonl", b.String())
}

func file(tb testing.TB, name, text string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

func TestWhatif_BadLinesHideNothing(t *testing.T) {
	list := story(t)
	good := strings.Split(strings.TrimSpace(read1(t, jsonl(t, list...))), "\n")
	lines := []string{
		good[0], `{"specversion":"1.0","id":3}`, "", "oops", good[2], good[3][:40],
		strings.Replace(good[4], `"specversion"`, `"vendorthing":"a","specversion"`, 1),
		`{"specversion":"1.0","id":"x","source":"s","type":"hooktrail.step.finished","subject":"r1","time":"2026-03-01T09:00:00Z","data":{"step_status":7}}`,
		good[7],
	}
	path := file(t, "history.jsonl", strings.Join(lines, "\n"))
	status, stdout, stderr := call(t, t.TempDir(), "whatif", "--events", path, "--json")
	if status != cli.ExitError {
		t.Errorf("exit status %d, want %d", status, cli.ExitError)
	}
	for _, want := range []string{"4 lines are no events", "history.jsonl:2:27: ", "history.jsonl:4:1: ", "history.jsonl:6:", "history.jsonl:8:"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("%q is missing in %s", want, stderr)
		}
	}
	var got outcome
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatalf("%v in %s", err, stdout)
	}
	want := callJSON[outcome](t, t.TempDir(), "whatif", "--events", jsonl(t, list[0], list[2], list[4], list[7]))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the other lines come to something else (-alone +here):\n%s", diff)
	}
}

func read1(tb testing.TB, path string) string {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}

func TestWhatif_TellsWhatAnotherConfigurationChanges(t *testing.T) {
	path := jsonl(t, story(t)...)
	config := file(t, "new.yaml", "followups: 1\ntitle_prefix: \"AGENT:\"\n")
	got := callJSON[outcome](t, t.TempDir(), "whatif", "--events", path, "--config", config)
	c := got.Against
	if c == nil || c.Lost.Count == 0 || c.Gained.Count != 0 || c.Changed.Count == 0 || c.Decisions.Count == 0 {
		t.Fatalf("comparison is %+v", c)
	}
	if c.Issues.New != len(got.Issues) || c.Issues.Base != c.Issues.New+c.Lost.Count {
		t.Errorf("issues are %+v and %d, %d lost", c.Issues, len(got.Issues), c.Lost.Count)
	}
	lost := c.Lost.Examples[0]
	if lost.Kind != issues.Followup || lost.Decision == nil || lost.Decision.Base.Action != issues.Create || lost.Decision.New.Event != lost.Decision.Base.Event {
		t.Errorf("example is %+v with decision %+v", lost, lost.Decision)
	}
	_, text, _ := call(t, t.TempDir(), "whatif", "--events", path, "--config", config)
	for _, part := range []string{" lost, ", "\nlost: ", "\nchanged: ", "\ndecisions that differ: ", "AGENT: RESOLVE run r1"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in\n%s", part, text)
		}
	}
	reverse := callJSON[outcome](t, t.TempDir(), "whatif", "--events", path, "--config", file(t, "old.yaml", ""), "--against", config).Against
	if reverse.Gained.Count != c.Lost.Count || reverse.Lost.Count != 0 {
		t.Errorf("the other way round it is %+v", reverse)
	}
	same := callJSON[outcome](t, t.TempDir(), "whatif", "--events", path, "--config", config, "--against", config).Against
	if same.Gained.Count+same.Lost.Count+same.Changed.Count+same.Decisions.Count != 0 {
		t.Errorf("the same configuration differs from itself: %+v", same)
	}
}

// The defaults that are printed are the defaults.
func TestWhatif_Defaults(t *testing.T) {
	status, text, stderr := call(t, t.TempDir(), "whatif", "--defaults")
	if status != cli.ExitOK {
		t.Fatalf("exit status %d: %s", status, stderr)
	}
	c, err := loadConfig(file(t, "defaults.yaml", text))
	if err != nil || c.Hash() != issues.DefaultConfig().Hash() {
		t.Errorf("they read as %+v, %v", c, err)
	}
}

func TestWhatif_Usage(t *testing.T) {
	path := jsonl(t, story(t)...)
	for _, test := range []struct {
		name string
		args []string
		want int
		says string
	}{
		{"NothingAsked", nil, cli.ExitUsage, "--events"},
		{"AgainstAlone", []string{"--events", path, "--against", path}, cli.ExitUsage, "--against"},
		{"NoFile", []string{"--events", "/nowhere/it.jsonl"}, cli.ExitError, "/nowhere/it.jsonl"},
		{"Folder", []string{"--events", t.TempDir()}, cli.ExitError, "folder"},
		{"NoConfig", []string{"--events", path, "--config", "/nowhere/c.yaml"}, cli.ExitError, "/nowhere/c.yaml"},
		{"BadConfig", []string{"--events", path, "--config", file(t, "bad.yaml", "complexity: 3\nstrom: 5\n")}, cli.ExitError, "bad.yaml:2:1: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, stdout, stderr := call(t, t.TempDir(), append([]string{"whatif"}, test.args...)...)
			if status != test.want || stdout != "" || !strings.Contains(stderr, test.says) {
				t.Errorf("exit status %d, %q, %q", status, stdout, stderr)
			}
		})
	}
}

func TestWhatif_TenantsOfAnInput(t *testing.T) {
	list := story(t)
	for i := range list[:3] {
		list[i].Tenant = ""
	}
	path := jsonl(t, list...)
	tenants := func(args ...string) (names []string) {
		for _, i := range callJSON[outcome](t, t.TempDir(), append([]string{"whatif", "--events", path}, args...)...).Issues {
			names = append(names, i.Tenant)
		}
		return names
	}
	if got := tenants(); len(got) < 3 || !slices.Contains(got, "default") || slices.Contains(got, "") {
		t.Errorf("issues are of %v", got)
	}
	for _, name := range tenants("--tenant", "beta") {
		if name != "beta" {
			t.Errorf("issue of %s, want beta alone", name)
		}
	}
}

func TestWhy_OfAnInput(t *testing.T) {
	list := story(t)
	path := jsonl(t, list...)
	status, stdout, stderr := call(t, t.TempDir(), "why", list[0].ID, "--events", path, "--tenant", "acme")
	if status != cli.ExitOK || !strings.Contains(stdout, "made an issue") {
		t.Errorf("exit status %d, %q, %q", status, stdout, stderr)
	}
	if status, _, stderr := call(t, t.TempDir(), "why", "nothing", "--events", path, "--tenant", "acme"); status != cli.ExitError ||
		!strings.Contains(stderr, "nothing") {
		t.Errorf("exit status %d, %q", status, stderr)
	}
}

// FuzzWhatif: whatever the input, each of its lines is taken or told, and what is
// decided on it is decided again.
func FuzzWhatif(f *testing.F) {
	for _, e := range story(f) {
		f.Add(append(e.Encode(), '\n'))
	}
	f.Add([]byte("{}\n\xff\n{\"specversion\":\"1.0\",\"id\":\"a\",\"source\":\"s\",\"type\":\"t\"}"))
	f.Add([]byte("\f\n\u0085\n \t\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		taken, told, once := foldLines(t, data)
		if _, _, again := foldLines(t, data); !bytes.Equal(once, again) {
			t.Errorf("twice the same input comes to\n%s\nand\n%s", once, again)
		}
		lines := 0
		for line := range bytes.Lines(bytes.TrimPrefix(data, []byte("\ufeff"))) {
			if len(bytes.Trim(line, " \t\r\n")) > 0 { // what JSON takes for white space, no more
				lines++
			}
		}
		// A line that is no UTF-8 is told, and repaired and taken.
		if taken > lines || taken+told > 2*lines {
			t.Errorf("%d lines: %d taken, %d told", lines, taken, told)
		}
	})
}

// foldLines folds an input in memory, and returns the decisions as JSON.
func foldLines(t *testing.T, data []byte) (taken, told int, decided []byte) {
	t.Helper()
	in, err := openInput(t.Context(), stdinPath, bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var (
		bad   faults
		state = issues.NewState(nil)
		all   []issues.Decision
	)
	for e, err := range in.events(t.Context(), inputTenant, nil) {
		if err != nil {
			if !bad.add(err) {
				t.Fatal(err)
			}
			continue
		}
		taken++
		list, err := state.Apply(e, issues.DefaultConfig())
		if err != nil {
			t.Errorf("event %s cannot be folded: %v", e.ID, err)
		}
		all = append(all, list...)
	}
	list, err := state.Release(issues.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	decided, err = json.Marshal(append(all, list...))
	if err != nil {
		t.Fatal(err)
	}
	return taken, bad.count, decided
}

// BenchmarkWhatif folds runs of which every tenth fails, for reasons of its own.
func BenchmarkWhatif(b *testing.B) {
	for b.Loop() {
		f, err := newFolding(issues.DefaultConfig())
		if err != nil {
			b.Fatal(err)
		}
		for i := range 10_000 {
			at := i * 2
			e := event(b, "acme", fmt.Sprintf("r%d", i), at, events.RunFinished, events.RunFinishedData{
				Success: i%10 != 0, Error: &events.Failure{Message: "no " + strings.Repeat("x", i/10%50)},
			})
			e.RunType = "REVIEW"
			if err := f.take(e); err != nil {
				b.Fatal(err)
			}
		}
		if err := f.close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/10_000/float64(time.Microsecond), "µs/event")
}
