package provider_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hooktrail/hooktrail/internal/testkit/realdata"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/provider"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// holdLock locks the file like another process, and returns the function that unlocks it.
func holdLock(t *testing.T, path string) func() {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		t.Fatal(err)
	}
	return func() { f.Close() }
}

func TestComposite_RegistersAllOrNone(t *testing.T) {
	for _, mode := range []provider.Mode{provider.DenyWins, provider.FirstNonNil} {
		r := hooks.NewRegistry(hooks.Options{})
		if ids, err := r.Use(provider.Composite(mode, &verdicts{}, struct{}{})); err == nil || ids != nil || len(r.List()) != 0 {
			t.Errorf("mode %d: got %v, %v, %+v", mode, ids, err, r.List())
		}
	}
}

func TestComposite_FirstNonNilFailure(t *testing.T) {
	broken := &verdicts{fail: errors.New("no")}
	r := hooks.NewRegistry(hooks.Options{})
	if _, err := r.Use(provider.Composite(provider.FirstNonNil, broken, &verdicts{verdict: hooks.Allow}), hooks.OnFailure(hooks.Block)); err != nil {
		t.Fatal(err)
	}
	if out := hooks.ToolBefore.Dispatch(t.Context(), r, hooks.Meta{}, hooks.ToolCall{}); out.Verdict != hooks.Deny {
		t.Errorf("got %+v", out)
	}
}

func TestComposite_FirstNonNilOfEveryPoint(t *testing.T) {
	a, b := &squad{}, &squad{}
	e := use(t, hooks.Meta{}, provider.Composite(provider.FirstNonNil, a, b))
	everything(t, e)
	if len(a.fired) < 9 {
		t.Errorf("got %v", a.fired)
	}
	for _, hook := range b.fired {
		if !strings.HasPrefix(hook, "onSessionEnd") && !strings.HasPrefix(hook, "onSubagentStop") {
			t.Errorf("the second was asked: %s", hook)
		}
	}
	r := hooks.NewRegistry(hooks.Options{})
	if _, err := r.Use(provider.Composite(provider.FirstNonNil, &verdicts{context: "only a context"}, &verdicts{verdict: hooks.Deny})); err != nil {
		t.Fatal(err)
	}
	if out := hooks.ToolBefore.Dispatch(t.Context(), r, hooks.Meta{}, hooks.ToolCall{}); out.Verdict != hooks.None || out.Context != "only a context" {
		t.Errorf("got %+v", out)
	}
}

func TestTenants_Concurrent(t *testing.T) {
	var mu sync.Mutex
	made := map[string]int{}
	r := hooks.NewRegistry(hooks.Options{})
	if _, err := r.Use(provider.Tenants(func(tenant string) (any, error) {
		mu.Lock()
		defer mu.Unlock()
		made[tenant]++
		if tenant == "free" {
			return nil, nil
		}
		return struct{ hooks.PreToolUser }{denier(tenant)}, nil
	}, hooks.Options{})); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 50 {
		for _, tenant := range []string{"a", "b", "free"} {
			wg.Go(func() {
				out := hooks.ToolBefore.Dispatch(t.Context(), r, hooks.Meta{Tenant: tenant}, hooks.ToolCall{})
				if tenant == "free" && out.Verdict != hooks.None || tenant != "free" && out.Reason != tenant {
					t.Errorf("%s: got %+v", tenant, out)
				}
			})
		}
	}
	wg.Wait()
	if len(made) != 3 || made["a"] != 1 {
		t.Errorf("got %v", made)
	}
}

type denier string

func (d denier) PreToolUse(context.Context, hooks.Meta, hooks.ToolCall) (*hooks.ToolDecision, error) {
	return &hooks.ToolDecision{Verdict: hooks.Deny, Reason: string(d)}, nil
}

func TestResilience_RowsAndRuns(t *testing.T) {
	r := provider.NewResilience(provider.ResilienceOptions{Limit: 2, Base: time.Hour})
	e := use(t, hooks.Meta{}, r)
	fail := func(run string) *hooks.Recovery {
		return hooks.Error.Dispatch(t.Context(), e.Registry(), hooks.Meta{Run: run}, hooks.Failure{Type: hooks.NetworkError}).Recovery
	}
	fail("a")
	fail("a")
	for range 10 { // errors of tools open no breaker
		hooks.Error.Dispatch(t.Context(), e.Registry(), hooks.Meta{Run: "b"}, hooks.Failure{Type: hooks.ToolError})
	}
	if got := fail("b"); !got.Retry || got.Backoff != hooks.MaxBackoff {
		t.Errorf("another run's errors count: %+v", got)
	}
	hooks.StepFinished.Dispatch(t.Context(), e.Registry(), hooks.Meta{Run: "a"}, events.StepFinishedData{StepStatus: events.StepFailed})
	if got := fail("a"); got.Retry {
		t.Errorf("the third error in a row: %+v", got)
	}
	hooks.StepFinished.Dispatch(t.Context(), e.Registry(), hooks.Meta{Run: "a"}, events.StepFinishedData{StepStatus: events.StepCompleted})
	if got := fail("a"); !got.Retry {
		t.Errorf("after a completed step: %+v", got)
	}
	fail("b")
	hooks.RunFinished.Dispatch(t.Context(), e.Registry(), hooks.Meta{Run: "b"}, events.RunFinishedData{})
	if got := fail("b"); !got.Retry {
		t.Errorf("after the run's end: %+v", got)
	}
}

func TestResilience_AlertFails(t *testing.T) {
	calls := 0
	r := provider.NewResilience(provider.ResilienceOptions{Limit: 1, Alert: func(context.Context, provider.Alert) error {
		calls++
		return errors.New("pager is down")
	}})
	e := use(t, hooks.Meta{}, r)
	hooks.Error.On(e.Registry(), func(context.Context, hooks.Meta, hooks.Failure) (*hooks.Recovery, error) {
		return &hooks.Recovery{Retry: true}, nil
	})
	for i := range 4 {
		got := hooks.Error.Dispatch(t.Context(), e.Registry(), hooks.Meta{}, hooks.Failure{Type: hooks.NetworkError})
		if want := i == 0; got.Recovery == nil || got.Recovery.Retry != want {
			t.Errorf("error %d: got %+v", i, got.Recovery)
		}
	}
	if calls != 1 {
		t.Errorf("alerted %d times", calls)
	}
}

func TestAlerts(t *testing.T) {
	var got []provider.Alert
	a, err := provider.NewAlerts(func(_ context.Context, a provider.Alert) error {
		got = append(got, a)
		return nil
	}, "payment_*")
	if err != nil {
		t.Fatal(err)
	}
	e := use(t, hooks.Meta{Run: "r"}, a)
	failing := func(context.Context, hooks.ToolCall) (hooks.JSON, error) { return "", errors.New("declined") }
	for tool, fn := range map[string]func(context.Context, hooks.ToolCall) (hooks.JSON, error){"payment_process": failing, "payment_list": echo, "grep": failing} {
		if _, err := e.Tool(t.Context(), hooks.ToolCall{Tool: tool}, fn); err != nil {
			t.Error(err)
		}
	}
	if len(got) != 1 || got[0].Tool != "payment_process" || got[0].Error != "declined" || got[0].Run != "r" {
		t.Errorf("got %+v", got)
	}
	if _, err := provider.NewAlerts(nil, ""); err == nil {
		t.Error("no error for an empty pattern")
	}
}

func TestRecorder(t *testing.T) {
	full := errors.New("full")
	first, second, third := &journal{fail: full}, &journal{fail: full}, &journal{}
	stored, err := provider.NewRecorder(first, second, third).Append(t.Context(), events.Event{ID: "e"})
	if !errors.Is(err, full) || stored.ID != "e" || len(third.all) != 1 {
		t.Errorf("got %+v, %v, %+v", stored, err, third.all)
	}
	first.fail, second.fail = nil, nil
	if stored, err = provider.NewRecorder(first, second).Append(t.Context(), events.Event{ID: "f"}); err != nil || stored.Producer != "journal" || second.all[1].Producer != "journal" {
		t.Errorf("got %+v, %v", stored, err)
	}
}

func TestContext_StaysInItsDirectory(t *testing.T) {
	root := team(t)
	outside := filepath.Join(root, "secret.md")
	if err := os.WriteFile(outside, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(root, ".squad", "agents", "spy"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(root, ".squad", "agents", "spy", "history.md")); err != nil {
		t.Fatal(err)
	}
	for _, agent := range []string{"spy", "../..", "..", "a/../../..", `a\b`, ""} {
		e := use(t, hooks.Meta{TeamRoot: root, Agent: agent}, provider.NewContext(provider.ContextOptions{}))
		if out := hooks.SessionStart.Dispatch(t.Context(), e.Registry(), e.Meta(t.Context()), hooks.Session{}); strings.Contains(out.Context, "secret") {
			t.Errorf("%s: got %s", agent, out.Context)
		}
	}
}

func TestContext_NothingThere(t *testing.T) {
	for _, root := range []string{"", t.TempDir(), "/nonexistent"} {
		e := use(t, hooks.Meta{TeamRoot: root, Agent: "a"}, provider.NewContext(provider.ContextOptions{}))
		if out := hooks.SessionStart.Dispatch(t.Context(), e.Registry(), e.Meta(t.Context()), hooks.Session{}); out.Context != "" || !out.Executions[0].Success {
			t.Errorf("%q: got %+v", root, out)
		}
	}
}

func TestContext_LongFiles(t *testing.T) {
	root := team(t)
	path := filepath.Join(root, ".squad", "decisions.md")
	if err := os.WriteFile(path, []byte(strings.Repeat("0123456789\n", 20)+"the last\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	e := use(t, hooks.Meta{TeamRoot: root}, provider.NewContext(provider.ContextOptions{MaxBytes: 25}))
	out := hooks.SessionStart.Dispatch(t.Context(), e.Registry(), e.Meta(t.Context()), hooks.Session{})
	if out.Context != "0123456789\nthe last" {
		t.Errorf("got %q", out.Context)
	}
}

func TestContext_HistoryOfARealTeam(t *testing.T) {
	root := realdata.Path(t, "orchestrators", "squad")
	e := use(t, hooks.Meta{TeamRoot: root, Agent: "eecom"}, provider.NewContext(provider.ContextOptions{MaxEntries: 3}))
	out := hooks.SessionStart.Dispatch(t.Context(), e.Registry(), e.Meta(t.Context()), hooks.Session{})
	history := out.Context[strings.Index(out.Context, "### Template Brady"):]
	if n := strings.Count("\n"+history, "\n### "); n != 3 || !strings.Contains(out.Context, "Proposal-first workflow") {
		t.Errorf("got %d entries:\n%s", n, history)
	}
}

func TestDirectives(t *testing.T) {
	tests := []struct {
		prompt string
		want   []string
	}{
		{"", nil},
		{"Fix the bug in main.go", nil},
		{"Always run the tests before you commit.", []string{"Always run the tests before you commit"}},
		{"please, never push to main! Thanks", []string{"please, never push to main"}},
		{"Do it now; from now on use tabs", []string{"from now on use tabs"}},
		{"- We decided to use Postgres\n- ok", []string{"We decided to use Postgres"}},
		{"Prefer errors.Is over ==", []string{"Prefer errors.Is over =="}},
		{"Why does it always fail? It never works.", nil},
		{"Never mind", nil},
		{"```\nalways { @(posedge clk) }\n```\nok", nil},
		{"> always quote people", nil},
		{"Always use \x1b[31mred\x1b[0m ink here", []string{"Always use [31mred[0m ink here"}},
		{"Always use tabs. Always use tabs.", []string{"Always use tabs"}},
		{"Always " + strings.Repeat("x ", 200), nil},
	}
	for _, tt := range tests {
		if got := provider.Directives(tt.prompt); !slices.Equal(got, tt.want) {
			t.Errorf("%q: got %q, want %q", tt.prompt, got, tt.want)
		}
	}
	if got := provider.Directives(strings.Repeat("Always use number one\n", 3) + "Never use a\nAlways b c d\n"); len(got) != 3 {
		t.Errorf("got %q", got)
	}
}

func FuzzDirectives(f *testing.F) {
	for _, s := range []string{"Always use tabs.", "```\nnever do x\n```", "we decided that a; b", "prefer a over b\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, prompt string) {
		for _, d := range provider.Directives(prompt) {
			if strings.ContainsAny(d, "\n\r\x00\x1b") || len([]rune(d)) > 300 {
				t.Errorf("%q is not one plain line", d)
			}
			if again := provider.Directives(d); !slices.Equal(again, []string{d}) {
				t.Errorf("%q gives %q", d, again)
			}
		}
	})
}
