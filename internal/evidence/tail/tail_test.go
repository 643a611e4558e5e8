package tail_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/evidence/tail"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// live is a ledger that a test extends.
type live struct {
	t       *testing.T
	dir     string
	key     *writer.Key
	feed    *ledgertest.Feed
	step    string // of the next events
	written int
}

func newLive(t *testing.T) *live {
	t.Helper()
	return &live{t: t, dir: t.TempDir(), key: ledgertest.NewKey(t), feed: ledgertest.NewFeed("acme")}
}

// write appends the new messages of the feed, as an auditor that is then killed.
func (l *live) write() {
	l.t.Helper()
	w, err := writer.Open(l.t.Context(), l.dir, "acme", writer.Options{Key: l.key, Now: l.feed.At})
	if err != nil {
		l.t.Fatal(err)
	}
	ledgertest.AppendAll(l.t, w, ledgertest.Stream, l.feed.Messages[l.written:])
	l.written = len(l.feed.Messages)
	if err := w.Close(); err != nil {
		l.t.Fatal(err)
	}
}

func (l *live) tail(run string, f tail.Filter) *tail.Tail {
	l.t.Helper()
	r, err := ledger.OpenTenant(l.dir, "acme")
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		if err := r.Close(); err != nil {
			l.t.Error(err)
		}
	})
	got, err := tail.Open(l.t.Context(), r, run, f)
	if err != nil {
		l.t.Fatal(err)
	}
	return got
}

func (l *live) call(run, id, tool, command string, verdict events.Verdict) {
	l.event(run, id, events.ToolBefore, events.ToolBeforeData{
		Tool: tool, Args: fmt.Appendf(nil, `{"command":%q}`, command), Outcome: events.Outcome{Verdict: verdict, Reason: "why"},
	})
}

func (l *live) event(run, call string, kind events.Kind, payload any) {
	e, err := events.New(kind, "/engine", payload)
	if err != nil {
		l.t.Fatal(err)
	}
	e.ID = events.DeriveID(run, fmt.Sprint(len(l.feed.Messages)))
	e.Run, e.Subject, e.Step, e.ToolCall, e.Agent = run, run, l.step, call, "codex"
	l.feed.Publish("p", e)
}

func next(t *testing.T, of *tail.Tail) (got []string) {
	t.Helper()
	for l, err := range of.Next(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, say(l))
	}
	return got
}

func say(l tail.Line) string {
	return fmt.Sprintf("%s %s %s %s %s", l.Run, l.Kind, l.Name, l.Detail, l.Status)
}

func sayAll(lines []tail.Line) (got []string) {
	for _, l := range lines {
		got = append(got, say(l))
	}
	return got
}

func want(t *testing.T, what string, want, got []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestTail(t *testing.T) {
	l := newLive(t)
	l.call("r1", "c1", "Bash", "ls", "")
	l.feed.Manifest("p")
	l.write()
	all, denied, one := l.tail("", tail.Filter{}), l.tail("", tail.Filter{Denied: true}), l.tail("r1", tail.Filter{})
	for _, of := range []*tail.Tail{all, denied, one} {
		want(t, "nothing new", nil, next(t, of))
	}
	l.event("r1", "c1", events.ToolResult, events.ToolResultData{Status: events.ToolError})
	l.call("r2", "c2", "Write", "x", events.VerdictDeny)
	l.event("r2", "c2", events.ToolResult, events.ToolResultData{Status: events.ToolSuccess})
	l.event("r1", "", events.RunFinished, events.RunFinishedData{Success: true})
	l.feed.Seal("p", "r1")
	l.event("r1", "", events.IssueDecided, events.IssueDecidedData{Event: "e"})
	l.feed.Manifest("p")
	l.write()
	want(t, "all", []string{
		"r1 tool.result Bash ls error", "r2 tool.before Write x ", "r2 tool.result Write x success",
		"r1 run.finished   completed", "r1 run.sealed   ",
	}, next(t, all))
	want(t, "denied", []string{"r2 tool.before Write x ", "r2 tool.result Write x success"}, next(t, denied)) // the success is an alarm
	want(t, "one run", []string{"r1 tool.result Bash ls error", "r1 run.finished   completed", "r1 run.sealed   "}, next(t, one))
	if finished, sealed := one.Ended(); !finished || !sealed {
		t.Errorf("got finished %v, sealed %v", finished, sealed)
	}
	want(t, "nothing new", nil, next(t, all))

	l.call("r1", "c3", "Bash", "ls", "") // the run goes on
	l.write()
	want(t, "one run", []string{"r1 tool.before Bash ls "}, next(t, one))
	if finished, _ := one.Ended(); finished {
		t.Error("the run ended, although it went on")
	}
}

func TestTail_Past(t *testing.T) {
	l := newLive(t)
	for i := range 700 {
		l.call(fmt.Sprint("r", i%3), fmt.Sprint("c", i), "Bash", fmt.Sprint("echo ", i), "")
	}
	l.event("r0", "", events.SubagentStart, events.SubagentStartData{Subagent: "a1"})
	l.call("r0/a1", "d", "Read", "deep", "")
	l.feed.Manifest("p")
	l.write()
	past := func(run string, f tail.Filter, since time.Time, limit int) []string {
		t.Helper()
		lines, err := l.tail(run, f).Past(t.Context(), since, limit)
		if err != nil {
			t.Fatal(err)
		}
		return sayAll(lines)
	}
	want(t, "two lines", []string{"r0 subagent.start a1  ", "r0/a1 tool.before Read deep "}, past("", tail.Filter{}, time.Time{}, 2))
	want(t, "none", nil, past("", tail.Filter{}, time.Time{}, 0))
	want(t, "a tool", []string{"r0/a1 tool.before Read deep "}, past("", tail.Filter{Tool: "read"}, time.Time{}, 5))
	want(t, "a run", []string{"r0 tool.before Bash echo 699 ", "r0 subagent.start a1  ", "r0/a1 tool.before Read deep "}, past("r0", tail.Filter{}, time.Time{}, 3))
	if got := past("", tail.Filter{}, time.Time{}, 600); len(got) != 600 || got[0] != "r0 tool.before Bash echo 102 " {
		t.Errorf("got %d lines from %q on", len(got), got[0])
	}
	if got := past("", tail.Filter{}, time.Time{}, -1); len(got) != 702 {
		t.Errorf("got %d lines of 702", len(got))
	}
	since := l.feed.Now.Add(-20 * time.Millisecond)
	if got, all := past("", tail.Filter{}, since, -1), past("r2", tail.Filter{}, since, -1); len(got) < 5 || len(got) > 15 || len(all) == 0 || len(all) >= len(got) {
		t.Errorf("got %d lines, and %d of a run", len(got), len(all))
	}
	want(t, "no agent", nil, past("", tail.Filter{Agent: "other"}, time.Time{}, 5))
	if got := past("", tail.Filter{Agent: "CODEX"}, time.Time{}, 5); len(got) != 5 {
		t.Errorf("got %d lines of the agent", len(got))
	}
}

// A rebuild gives the same events other leaf numbers if the old ledger was moved away.
func TestTail_Rebuilt(t *testing.T) {
	for _, logged := range []bool{false, true} { // an auditor is running, or not
		l := newLive(t)
		l.call("r0", "c0", "Bash", "expired", "")
		l.call("r1", "c1", "Bash", "ls", "")
		l.feed.Manifest("p")
		l.write()
		if logged {
			w, err := writer.Open(t.Context(), l.dir, "acme", writer.Options{Key: l.key, Now: l.feed.At})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = w.Close() }) // its file was moved away
			l.call("r1", "c1b", "Bash", "logged", "")
			ledgertest.AppendAll(t, w, ledgertest.Stream, l.feed.Messages[l.written:])
		}
		of := l.tail("", tail.Filter{})
		want(t, "nothing new", nil, next(t, of))
		l.call("r1", "c2", "Bash", "new", "")
		l.feed.Manifest("p")

		rebuilt := &live{t: t, dir: t.TempDir(), key: l.key, feed: l.feed, written: 1}
		rebuilt.write()
		move(t, l.dir, rebuilt.dir)
		want(t, "after the rebuild", []string{"r1 tool.before Bash new "}, next(t, of))
		l.dir = rebuilt.dir
	}
}

// move replaces the ledger in dir, as a rebuild does.
func move(t *testing.T, dir, from string) {
	t.Helper()
	for _, one := range [][2]string{{filepath.Join(dir, "acme"), filepath.Join(t.TempDir(), "old")}, {filepath.Join(from, "acme"), filepath.Join(dir, "acme")}} {
		if err := os.Rename(one[0], one[1]); err != nil {
			t.Fatal(err)
		}
	}
}

// A backup is restored, and the auditor adds the missing events again.
func TestTail_Restored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLive(t)
		for i := range 5 {
			l.call("r1", fmt.Sprint("c", i), "Bash", fmt.Sprint("echo ", i), "")
		}
		l.write()
		of := l.tail("", tail.Filter{})
		restored := &live{t: t, dir: t.TempDir(), key: l.key, feed: ledgertest.NewFeed("acme")}
		restored.feed.Messages = l.feed.Messages[:3]
		restored.write()
		move(t, l.dir, restored.dir)
		want(t, "at once", nil, next(t, of))
		time.Sleep(time.Minute)
		var replaced *tail.ReplacedError
		for _, err := range of.Next(t.Context()) {
			if !errors.As(err, &replaced) {
				t.Errorf("got %v", err)
			}
		}
		if replaced == nil {
			t.Fatal("the replacement was not told")
		}
		l.written = 3
		l.call("r1", "c9", "Bash", "new", "")
		l.write()
		want(t, "after it", []string{"r1 tool.before Bash new "}, next(t, of))
	})
}

func TestTail_Altered(t *testing.T) {
	l := newLive(t)
	l.call("r1", "c1", "Bash", "ls", "")
	l.write()
	of, denied, tool := l.tail("", tail.Filter{}), l.tail("", tail.Filter{Denied: true}), l.tail("", tail.Filter{Tool: "Read", Agent: "other"})
	l.call("r1", "c2", "Bash", "rm", "")
	l.event("r1", "c2", events.ToolResult, events.ToolResultData{Status: events.ToolSuccess})
	l.write()
	path, err := ledger.Path(l.dir, "acme")
	if err != nil {
		t.Fatal(err)
	}
	to, ok := ledgertest.Attack(t, path, `UPDATE payloads SET bytes = CAST(replace(bytes, 'rm', 'ls') AS BLOB) WHERE leaf = 1`)
	if !ok {
		t.Fatal("SQLite refused the attack")
	}
	if err := os.Rename(to, path); err != nil {
		t.Fatal(err)
	}
	want(t, "altered", []string{"r1 tool.before   ", "r1 tool.result   success"}, next(t, of))
	// A filter cannot judge an altered record, so it does not hide one.
	want(t, "altered, denied", []string{"r1 tool.before   "}, next(t, denied))
	want(t, "altered, of a tool", []string{"r1 tool.before   "}, next(t, tool))
	for _, of := range []*tail.Tail{of, denied, tool} {
		if of.Altered() != 1 {
			t.Errorf("got %d altered records", of.Altered())
		}
	}
}

// No form of a payload hides a denial or a success, and none stops the tail.
//
//guarantee:one-reading
func TestTail_Forms(t *testing.T) {
	l := newLive(t)
	for i, form := range ledgertest.Denials() {
		l.feed.Publish("p", form.Event(fmt.Sprint("c", i)))
	}
	for i, form := range ledgertest.Successes() {
		l.feed.Publish("p", form.Event(fmt.Sprint("c", i)))
	}
	for i, form := range ledgertest.OtherForms() {
		l.feed.Publish("p", form.Event(fmt.Sprint("d", i)))
	}
	l.write()
	lines, err := l.tail("r9", tail.Filter{}).Past(t.Context(), time.Time{}, -1)
	if err != nil {
		t.Fatal(err)
	}
	denied, results := 0, 0
	for _, line := range lines {
		if line.Kind == events.ToolBefore && line.Denied() {
			denied++
		}
		if line.DeniedResult {
			results++
		}
	}
	if n := len(ledgertest.Denials()); denied != n || results != n || len(ledgertest.Successes()) != n {
		t.Errorf("got %d denials and %d successes of %d", denied, results, n)
	}
}

// The fields of a line say nothing that an order removed.
func TestTail_Erased(t *testing.T) {
	l := newLive(t)
	l.call("r1", "c1", "Bash", "secret", events.VerdictDeny)
	l.write()
	l.feed.Order(t, l.key, ledgertest.Resolved(t, pathOf(t, l.dir), ledgertest.EraseRun("r1")))
	l.write()
	lines, err := l.tail("r1", tail.Filter{}).Past(context.Background(), time.Time{}, -1)
	if err != nil || len(lines) != 1 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	if text, _ := json.Marshal(lines[0]); lines[0].Removed != "erased" || lines[0].Name+lines[0].Detail+lines[0].Reason != "" {
		t.Errorf("got %s", text)
	}
}

func pathOf(t *testing.T, dir string) string {
	t.Helper()
	path, err := ledger.Path(dir, "acme")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// A hook call whose payload nobody can read is in no run, and has a line. A line without a stated
// time is not since any time.
func TestTail_ProblemWithoutRun(t *testing.T) {
	l := newLive(t)
	l.call("r1", "c1", "Bash", "ls", "")
	l.event("", "", events.Custom, map[string]any{"name": events.HookProblem, "problems": []string{"parse payload", "record: disk full"}})
	l.event("", "", events.Custom, map[string]any{"name": events.HookProblem, "problems": "none", "untimed": true})
	l.event("", "", events.Custom, map[string]any{"name": "other"})
	l.feed.Manifest("p")
	l.write()
	past := func(run string, since time.Time) []string {
		t.Helper()
		lines, err := l.tail(run, tail.Filter{Telling: true}).Past(t.Context(), since, -1)
		if err != nil {
			t.Fatal(err)
		}
		return sayAll(lines)
	}
	all := []string{"r1 tool.before Bash ls ", " custom hook.problem parse payload; record: disk full ", " custom hook.problem  "}
	want(t, "all", all, past("", time.Time{}))
	want(t, "since a time", all[:2], past("", l.feed.Now.AddDate(-1, 0, 0)))
	want(t, "one run", all[:1], past("r1", time.Time{}))
}
