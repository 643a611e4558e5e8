package provider_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy"
	"github.com/hooktrail/hooktrail/pkg/hooks/provider"
)

type meter struct {
	mu     sync.Mutex // guards the fields below
	counts map[string]int64
	lines  []string
	spans  []provider.Span
}

func (m *meter) Add(_ context.Context, name string, delta int64, attributes ...slog.Attr) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.counts == nil {
		m.counts = map[string]int64{}
	}
	m.counts[name] += delta
	m.lines = append(m.lines, fmt.Sprint(name, " ", attributes))
}

func (m *meter) Record(_ context.Context, name string, _ float64, attributes ...slog.Attr) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lines = append(m.lines, fmt.Sprint(name, " ", attributes))
}

func (m *meter) Span(_ context.Context, s provider.Span) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.spans = append(m.spans, s)
}

var table = map[string]provider.Price{"claude-opus-*": {Input: 15, Output: 75}, "claude-haiku-4.5": {Input: 1, Output: 5}}

func budget(t *testing.T, spent float64, opts provider.BudgetOptions) *provider.Budget {
	t.Helper()
	opts.Limit, opts.Prices, opts.Cheap = 100, table, "claude-haiku-4.5"
	b, err := provider.NewBudget(opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Spend(t.Context(), "claude-haiku-4.5", events.Tokens{Input: int64(spent * 1e6)}); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestSeed000_Needs(t *testing.T) {
	t.Run("Compliance (need 1) records every outcome, including denials, in a separate audit", func(t *testing.T) {
		own, audit := &journal{}, &journal{}
		r := hooks.NewRegistry(hooks.Options{Appender: provider.NewRecorder(own, audit)})
		if _, err := r.Use(defaults(t, policy.Config{})); err != nil {
			t.Fatal(err)
		}
		e := hooks.NewEngine(r, hooks.Meta{})
		everything(t, e)
		if _, err := e.Tool(t.Context(), hooks.ToolCall{Tool: "bash", Args: `{"command":"rm -rf /"}`}, echo); err == nil {
			t.Error("not denied")
		}
		if diff := cmp.Diff(own.all, audit.all); diff != "" {
			t.Errorf("the audit differs (-want +got):\n%s", diff)
		}
		last, err := events.Payload[events.ToolBeforeData](audit.all[len(audit.all)-1])
		if err != nil || last.Verdict != hooks.Deny || len(last.Executions) == 0 {
			t.Errorf("got %+v, %v", last, err)
		}
		if n := len(slices.Compact(slices.Sorted(slices.Values(audit.kinds())))); n < 14 {
			t.Errorf("got %d kinds of events: %v", n, audit.kinds())
		}
	})
	t.Run("Cost (need 2) starts no sub-agent from 90 % on, and a cheaper model from 70 % on", func(t *testing.T) {
		for spent, want := range map[float64]string{0: "claude-opus-4.6", 69.9: "claude-opus-4.6", 70: "claude-haiku-4.5", 89.9: "claude-haiku-4.5", 90: "", 250: ""} {
			e := use(t, hooks.Meta{}, budget(t, spent, provider.BudgetOptions{}))
			var got string
			err := e.Subagent(t.Context(), hooks.Subagent{Name: "a", Model: "claude-opus-4.6"}, func(_ context.Context, start hooks.SubagentOutcome) error {
				got = start.Input.Model
				return nil
			})
			denied, _ := errors.AsType[*hooks.DeniedError](err)
			if got != want || (want == "") != (denied != nil) {
				t.Errorf("%v spent: got %q, %v", spent, got, err)
			}
			if spent == 90 && denied.Reason != "Budget 90% consumed. Pausing spawns." {
				t.Errorf("got reason %q", denied.Reason)
			}
		}
	})
	t.Run("Cost (need 2) charges sub-agents when they stop, and reports at the end", func(t *testing.T) {
		var out bytes.Buffer
		b := budget(t, 0, provider.BudgetOptions{Report: provider.ReportTo(&out)})
		e := use(t, hooks.Meta{Tenant: "acme"}, b)
		err := e.Session(t.Context(), "s", hooks.Session{}, func(ctx context.Context, _ hooks.SessionOutcome) error {
			return e.Subagent(ctx, hooks.Subagent{Name: "a", Model: "claude-opus-4.6"}, func(ctx context.Context, _ hooks.SubagentOutcome) error {
				hooks.Report(ctx, hooks.Notes{Tokens: events.Tokens{Input: 1e6, Output: 1e6}})
				return nil
			})
		})
		var report provider.BudgetReport
		if err != nil || json.Unmarshal(out.Bytes(), &report) != nil {
			t.Fatalf("got %v, report %s", err, out.String())
		}
		if report.Spent != 90 || report.Share != 0.9 || report.Tenant != "acme" || report.Session != "s" || len(report.Models) != 1 || report.Models[0].Model != "claude-opus-4.6" || report.Ended.Reason != "completed" {
			t.Errorf("got %+v", report)
		}
	})
	t.Run("Tenants (need 3) have separate rules and limits", func(t *testing.T) {
		made := 0
		rules := provider.Tenants(func(tenant string) (any, error) {
			made++
			if tenant == "nobody" {
				return nil, errors.New("no such customer")
			}
			set, err := provider.Default(policy.Config{AllowedWritePaths: []string{tenant + "/**"}, Mode: policy.Compat})
			return provider.Composite(provider.DenyWins, set), err
		}, hooks.Options{})
		r := hooks.NewRegistry(hooks.Options{})
		if _, err := r.Use(rules); err != nil {
			t.Fatal(err)
		}
		write := func(tenant, path string) error {
			_, err := hooks.NewEngine(r, hooks.Meta{Tenant: tenant}).Tool(t.Context(), hooks.ToolCall{Tool: "edit", Args: hooks.JSON(`{"path":"` + path + `"}`)}, echo)
			return err
		}
		if err := errors.Join(write("acme", "acme/a"), write("umbrella", "umbrella/a")); err != nil {
			t.Error(err)
		}
		for _, bad := range [][2]string{{"acme", "umbrella/a"}, {"umbrella", "acme/a"}, {"nobody", "nobody/a"}, {"", "a"}} {
			if err := write(bad[0], bad[1]); !errors.Is(err, hooks.ErrDenied) {
				t.Errorf("%s writes %s: %v", bad[0], bad[1], err)
			}
		}
		if made != 3 {
			t.Errorf("rules were made %d times, want once per tenant", made)
		}
	})
	t.Run("Context (need 4) adds decisions, history and matching skills at the start of a session", func(t *testing.T) {
		root := team(t)
		e := use(t, hooks.Meta{TeamRoot: root, Agent: "EECOM"}, provider.NewContext(provider.ContextOptions{MaxEntries: 2}))
		out := hooks.SessionStart.Dispatch(t.Context(), e.Registry(), e.Meta(t.Context()), hooks.Session{Charter: "You do code review for Go."})
		want := "# Decisions\n\n### Tabs\n\n### second (2026-02-02)\nb\n\n### third (2026-03-03)\nc\n\n---\nname: review\ndomain: code review\n---\nRead it twice."
		if diff := cmp.Diff(want, out.Context); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("Context (need 4) captures directives in prompts, and they stick", func(t *testing.T) {
		root := team(t)
		e := use(t, hooks.Meta{TeamRoot: root, User: "ana"}, provider.NewContext(provider.ContextOptions{}))
		for range 2 { // the second time adds nothing
			out := hooks.PromptSubmit.Dispatch(t.Context(), e.Registry(), e.Meta(t.Context()), hooks.Prompt{Text: "Fix the build. Always run the linter first!\nThanks"})
			if !slices.Equal(out.Patch.Directives, []string{"Always run the linter first"}) {
				t.Errorf("got %+v", out)
			}
		}
		start := hooks.SessionStart.Dispatch(t.Context(), e.Registry(), e.Meta(t.Context()), hooks.Session{})
		if strings.Count(start.Context, "**By:** ana\n**What:** Always run the linter first") != 1 {
			t.Errorf("got %s", start.Context)
		}
	})
	t.Run("Resilience (need 5) has a model fallback chain, exponential backoff, and a breaker with an alert", func(t *testing.T) {
		var alerts []provider.Alert
		r := provider.NewResilience(provider.ResilienceOptions{Fallbacks: []string{"sonnet", "haiku"}, Alert: func(_ context.Context, a provider.Alert) error {
			alerts = append(alerts, a)
			return nil
		}})
		e := use(t, hooks.Meta{Run: "r"}, r)
		ask := func(kind hooks.ErrorType) *hooks.Recovery {
			return hooks.Error.Dispatch(t.Context(), e.Registry(), hooks.Meta{Run: "r"}, hooks.Failure{Type: kind, Err: errors.New("no")}).Recovery
		}
		got := []*hooks.Recovery{
			ask(hooks.ModelError), ask(hooks.NetworkError), ask(hooks.ModelError), ask(hooks.ModelError),
			ask(hooks.NetworkError), ask(hooks.NetworkError), ask(hooks.ModelError),
		}
		want := []*hooks.Recovery{
			{Retry: true, Fallback: "sonnet"},
			{Retry: true, Backoff: 4 * time.Second},
			{Retry: true, Fallback: "haiku"},
			nil,
			{Retry: true, Backoff: 32 * time.Second},
			{Retry: false},
			{Retry: false},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if len(alerts) != 1 || alerts[0].Title != "circuit breaker open" || alerts[0].Run != "r" || alerts[0].Error != "no" {
			t.Errorf("got alerts %+v", alerts)
		}
	})
	t.Run("Observability (need 6) reports spawns, completions and tool calls with agent, model, duration, tokens, status", func(t *testing.T) {
		m := &meter{}
		everything(t, use(t, hooks.Meta{Agent: "eecom"}, provider.NewObservability(provider.ObservabilityOptions{
			Prefix: "squad", Meter: m, Tracer: m, Attributes: []slog.Attr{slog.String("repo", "x")},
		})))
		for _, want := range []string{
			"squad.agent.spawn [repo=x agent=scout model=haiku]",
			"squad.agent.complete [repo=x agent=scout model=haiku status=completed]",
			"squad.agent.complete.seconds [repo=x agent=scout model=haiku status=completed]",
			"squad.tokens [repo=x agent=scout model=haiku kind=input]",
			"squad.tool.call [repo=x tool=bash agent=eecom status=error]",
		} {
			if !slices.Contains(m.lines, want) {
				t.Errorf("no %s in\n%s", want, strings.Join(m.lines, "\n"))
			}
		}
		if m.counts["squad.tokens"] != 7 || len(m.spans) != 6 {
			t.Errorf("got %d tokens, %d spans: %+v", m.counts["squad.tokens"], len(m.spans), m.spans)
		}
	})
}

func team(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"decisions.md":            "# Decisions\n\n### Tabs\n",
		"agents/eecom/history.md": "# EECOM\n\n### first (2026-01-01)\na\n\n### second (2026-02-02)\nb\n\n### third (2026-03-03)\nc\n",
		"skills/review/SKILL.md":  "---\nname: review\ndomain: code review\n---\nRead it twice.\n",
		"skills/rust/SKILL.md":    "---\nname: rust\n---\nBorrow.\n",
		"skills/README.md":        "no skill",
	} {
		path := filepath.Join(root, ".squad", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}
