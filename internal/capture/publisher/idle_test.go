package publisher

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/pkg/events"
)

func idleRuns(tb testing.TB, to Appender, dir string) *IdleRuns {
	tb.Helper()
	return NewIdleRuns(to, Options{DataDir: dir, Logger: slog.New(slog.DiscardHandler)})
}

func say(tb testing.TB, to Appender, kind events.Kind, run string) {
	tb.Helper()
	e, err := events.New(kind, "claude-code", events.PromptSubmitData{})
	if err != nil {
		tb.Fatal(err)
	}
	e.Tenant, e.Run, e.Session = "acme", run, run
	if _, err := to.Append(tb.Context(), e); err != nil {
		tb.Fatal(err)
	}
}

func (r *recorder) ends(tb testing.TB) (list []string) {
	tb.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.list {
		data, err := events.Payload[events.RunFinishedData](e)
		if err != nil || e.Kind() != events.RunFinished {
			continue
		}
		if data.Status() != events.RunUnknown || !data.IsEndOfLog() || e.Validate() != nil {
			tb.Errorf("got %+v in %+v", data, e)
		}
		list = append(list, e.Run+" "+data.Reason)
	}
	slices.Sort(list)
	return list
}

// A run that is silent for ten minutes ends, and again if it continues. Runs of other sources do not.
func TestIdleRuns(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		to := &recorder{}
		r := idleRuns(t, to, dir)
		stop := r.Start(t.Context())
		logs, others := r.Ended(to), r.Others(to)
		for _, run := range []string{"a", "b", "hooked", "late"} {
			say(t, logs, events.PromptSubmit, run)
		}
		say(t, logs, events.Custom, "c")
		say(t, others, events.ToolBefore, "hooked")
		say(t, logs, events.PromptSubmit, "hooked")
		time.Sleep(6 * time.Minute)
		say(t, logs, events.ToolResult, "b")
		time.Sleep(6 * time.Minute)
		if diff := cmp.Diff([]string{"a idle", "late idle"}, to.ends(t)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		say(t, logs, events.ToolResult, "a")
		stop()
		if diff := cmp.Diff([]string{"a end of log", "a idle", "b end of log", "late idle"}, to.ends(t)); diff != "" {
			t.Errorf("after the stop (-want +got):\n%s", diff)
		}
	})
	if left, err := os.ReadDir(filepath.Join(dir, "open-runs")); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// The next process ends the runs of a killed one, also if the outbox was full for a while.
func TestIdleRuns_Killed(t *testing.T) {
	dir := t.TempDir()
	killed := idleRuns(t, &recorder{}, dir)
	killed.load(t.Context())
	say(t, killed.Ended(&recorder{}), events.PromptSubmit, "a")
	if err := os.WriteFile(filepath.Join(dir, "open-runs", "torn"), []byte(`{"run`), 0o600); err != nil {
		t.Fatal(err)
	}
	idleRuns(t, full{}, dir).Start(t.Context())()
	to := &recorder{}
	idleRuns(t, to, dir).Start(t.Context())()
	if diff := cmp.Diff([]string{"a end of log"}, to.ends(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	idleRuns(t, to, dir).Start(t.Context())()
	if n := len(to.ends(t)); n != 1 {
		t.Errorf("a third process: got %d ends, want 1", n)
	}
}

// After a crash a run ends at about the time of its last event, and not at the first one, so a
// session of hours is not one of no length.
func TestIdleRuns_KilledLate(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		killed := idleRuns(t, &recorder{}, dir)
		killed.load(t.Context())
		var last time.Time
		for i := range 3 {
			time.Sleep(5 * time.Minute)
			last = time.Now()
			sayAt(t, killed.Ended(&recorder{}), "acme", "a", fmt.Sprint("e", i), last)
		}
		to := &recorder{}
		idleRuns(t, to, dir).Start(t.Context())()
		if n := len(to.ends(t)); n != 1 || !to.list[0].Time.Equal(last) {
			t.Errorf("%d ends, the first at %v, want %v", n, to.list[0].Time, last)
		}
	})
}

// A flood of runs of one tenant does not end the runs of another, which go on.
//
//guarantee:idle-flood
func TestIdleRuns_FloodOfAnotherTenant(t *testing.T) {
	to := &recorder{}
	r := idleRuns(t, to, t.TempDir())
	r.load(t.Context())
	logs := r.Ended(to)
	sayAt(t, logs, "acme", "open", "e0", time.Now())
	for i := range maxIdle + 2 {
		sayAt(t, logs, "mallory", fmt.Sprint("r", i), fmt.Sprint("m", i), time.Now())
	}
	if n := len(to.ends(t)); n != 2 || r.open[runKey{"acme", "open"}] == nil || r.held["mallory"] != maxIdle || r.held["acme"] != 1 {
		t.Errorf("got %d ends, and open runs %v", n, r.held)
	}
}

func sayAt(tb testing.TB, to Appender, tenant, run, id string, at time.Time) {
	tb.Helper()
	e, err := events.New(events.PromptSubmit, "claude-code", events.PromptSubmitData{})
	if err != nil {
		tb.Fatal(err)
	}
	e.ID, e.Tenant, e.Run, e.Session, e.Time = id, tenant, run, run, at
	if _, err := to.Append(tb.Context(), e); err != nil {
		tb.Fatal(err)
	}
}

// A flood of runs ends the longest silent ones early, so that memory and disk stay bounded.
func TestIdleRuns_Flood(t *testing.T) {
	to := &recorder{}
	r := idleRuns(t, to, t.TempDir())
	r.load(t.Context())
	for i := range maxIdle + 3 {
		say(t, r.Ended(to), events.PromptSubmit, fmt.Sprint("r", i))
	}
	if n := len(to.ends(t)); n != 3 || len(r.open) != maxIdle {
		t.Errorf("got %d ends and %d open runs", n, len(r.open))
	}
}
