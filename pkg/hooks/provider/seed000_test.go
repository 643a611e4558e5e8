package provider_test

import (
	"context"
	"errors"
	"fmt"
	"os"
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

type journal struct {
	mu   sync.Mutex // guards all
	all  []events.Event
	fail error
}

func (j *journal) Append(_ context.Context, e events.Event) (events.Event, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e.Producer = "journal"
	j.all = append(j.all, e)
	return e, j.fail
}

func (j *journal) kinds() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var list []string
	for _, e := range j.all {
		list = append(list, string(e.Kind()))
	}
	return list
}

func use(t *testing.T, meta hooks.Meta, providers ...any) *hooks.Engine {
	t.Helper()
	r := hooks.NewRegistry(hooks.Options{})
	for _, p := range providers {
		if _, err := r.Use(p); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return hooks.NewEngine(r, meta)
}

func defaults(t *testing.T, c policy.Config) *policy.Set {
	t.Helper()
	p, err := provider.Default(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func echo(_ context.Context, c hooks.ToolCall) (hooks.JSON, error) { return c.Args, nil }

// squad is a provider with all nine hooks of the document.
type squad struct{ fired []string }

func (s *squad) note(hook string) { s.fired = append(s.fired, hook) }

func (s *squad) PreToolUse(_ context.Context, m hooks.Meta, c hooks.ToolCall) (*hooks.ToolDecision, error) {
	s.note("onPreToolUse " + c.Tool + " " + string(c.Args) + " " + m.TeamRoot)
	return &hooks.ToolDecision{Verdict: hooks.Allow, Context: "more", Patch: &hooks.ToolPatch{Args: `{"n":2}`}}, nil
}

func (s *squad) PostToolUse(_ context.Context, _ hooks.Meta, d hooks.ToolDone, o hooks.ToolOutcome) (*hooks.ToolOutcome, error) {
	s.note(fmt.Sprint("onPostToolUse ", d.Call.Tool, " ", o.Result, " ", d.Duration >= 0))
	o.Result, o.Suppress, o.Context = `"changed"`, true, "seen"
	return &o, nil
}

func (s *squad) SessionStart(_ context.Context, _ hooks.Meta, in hooks.Session) (*hooks.SessionDecision, error) {
	s.note("onSessionStart " + in.Model + " " + in.Charter)
	return &hooks.SessionDecision{Context: "decisions", Patch: &hooks.SessionPatch{Model: "sonnet"}}, nil
}

func (s *squad) PromptSubmitted(_ context.Context, _ hooks.Meta, in hooks.Prompt) (*hooks.PromptDecision, error) {
	s.note("onUserPromptSubmitted " + in.Text)
	rewritten := in.Text + "!"
	return &hooks.PromptDecision{Context: "today", Patch: &hooks.PromptPatch{Prompt: &rewritten, Directives: []string{"use tabs"}}}, nil
}

func (s *squad) SessionEnd(_ context.Context, _ hooks.Meta, d events.SessionEndedData) error {
	s.note(fmt.Sprint("onSessionEnd ", d.TokensUsed.Input, " ", d.ToolCalls, " ", d.Files, " ", d.DurationMS >= 0))
	return nil
}

func (s *squad) ErrorOccurred(_ context.Context, _ hooks.Meta, f hooks.Failure) (*hooks.Recovery, error) {
	s.note(fmt.Sprint("onErrorOccurred ", f.Type, " ", f.Model, " ", f.Err))
	return &hooks.Recovery{Retry: true, Fallback: "haiku", Prompt: "shorter", Backoff: time.Millisecond}, nil
}

func (s *squad) PreCompact(_ context.Context, _ hooks.Meta, c hooks.Compaction) (*hooks.CompactionDecision, error) {
	s.note(fmt.Sprint("onPreCompact ", c.Tokens, " ", c.MaxTokens, " ", c.Strategy))
	return &hooks.CompactionDecision{Patch: &hooks.CompactionPatch{Preserve: []string{"goal"}, Export: `{"open":3}`}}, nil
}

func (s *squad) SubagentStart(_ context.Context, _ hooks.Meta, a hooks.Subagent) (*hooks.SubagentDecision, error) {
	s.note("onSubagentStart " + a.Name + " " + a.Model + " " + a.TaskType + " " + a.Charter)
	if a.Name == "ralph" {
		return &hooks.SubagentDecision{Verdict: hooks.Deny, Reason: "no loops"}, nil
	}
	return &hooks.SubagentDecision{Verdict: hooks.Allow, Context: "be brief", Patch: &hooks.SubagentPatch{Model: "haiku"}}, nil
}

func (s *squad) SubagentStop(_ context.Context, _ hooks.Meta, d events.SubagentStoppedData) error {
	s.note(fmt.Sprint("onSubagentStop ", d.Name, " ", d.Model, " ", d.TotalTokens, " ", d.ToolCalls, " ", d.Status, " ", d.Files))
	return nil
}

func TestSeed000(t *testing.T) {
	meta := hooks.Meta{Session: "s", Agent: "eecom", TeamRoot: "/team"}
	t.Run("onPreToolUse runs before a tool, and allows, modifies arguments or adds context", func(t *testing.T) {
		p := &squad{}
		out, err := use(t, meta, p).Tool(t.Context(), hooks.ToolCall{Tool: "edit", Args: `{"n":1}`}, echo)
		if err != nil || out.Context != "more\n\nseen" {
			t.Errorf("got %+v, %v", out, err)
		}
		want := []string{`onPreToolUse edit {"n":1} /team`, `onPostToolUse edit {"n":2} true`}
		if diff := cmp.Diff(want, p.fired); diff != "" {
			t.Errorf("fired (-want +got):\n%s", diff)
		}
	})
	t.Run("onPreToolUse denies, so the tool does not run, and null allows", func(t *testing.T) {
		p := defaults(t, policy.Config{Mode: policy.Compat})
		e := use(t, meta, p)
		if _, err := e.Tool(t.Context(), hooks.ToolCall{Tool: "bash", Args: `{"command":"git push --force"}`}, echo); !errors.Is(err, hooks.ErrDenied) {
			t.Errorf("got %v", err)
		}
		if out, err := e.Tool(t.Context(), hooks.ToolCall{Tool: "bash", Args: `{"command":"ls"}`}, echo); err != nil || out.Result == "" {
			t.Errorf("got %+v, %v", out, err)
		}
	})
	t.Run("onPostToolUse transforms the result, suppresses output or adds context, and null keeps the result", func(t *testing.T) {
		out, _ := use(t, meta, &squad{}).Tool(t.Context(), hooks.ToolCall{Tool: "edit"}, echo)
		if out.Result != `"changed"` || !out.Suppress {
			t.Errorf("got %+v", out)
		}
		out, _ = use(t, meta).Tool(t.Context(), hooks.ToolCall{Tool: "edit", Args: `1`}, echo)
		if diff := cmp.Diff(hooks.ToolOutcome{Status: events.ToolSuccess, Result: `1`}, out); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("onSessionStart and onSessionEnd get context, configuration and the results of the session", func(t *testing.T) {
		p := &squad{}
		e := use(t, meta, p)
		err := e.Session(t.Context(), "", hooks.Session{Model: "opus", Charter: "core dev"}, func(ctx context.Context, start hooks.SessionOutcome) error {
			if start.Input.Model != "sonnet" || start.Context != "decisions" {
				t.Errorf("got %+v", start)
			}
			hooks.Report(ctx, hooks.Notes{Tokens: events.Tokens{Input: 7}, Files: []string{"a.go"}})
			return nil
		})
		want := []string{"onSessionStart opus core dev", "onSessionEnd 7 0 [a.go] true"}
		if diff := cmp.Diff(want, p.fired); diff != "" || err != nil {
			t.Errorf("error %v, fired (-want +got):\n%s", err, diff)
		}
	})
	t.Run("onUserPromptSubmitted rewrites the prompt, captures directives and adds context", func(t *testing.T) {
		e := use(t, meta, &squad{})
		out := hooks.PromptSubmit.Dispatch(t.Context(), e.Registry(), e.Meta(t.Context()), hooks.Prompt{Text: "go"})
		if out.Input.Text != "go!" || out.Context != "today" || !slices.Equal(out.Patch.Directives, []string{"use tabs"}) {
			t.Errorf("got %+v", out)
		}
	})
	t.Run("onErrorOccurred sets retry, fallback model, modified prompt and backoff", func(t *testing.T) {
		p := &squad{}
		var last hooks.Attempt
		_, err := use(t, meta, p).Step(t.Context(), hooks.StepInfo{Model: "opus"}, func(_ context.Context, a hooks.Attempt) (hooks.JSON, error) {
			if last = a; a.Number == 1 {
				return "", &hooks.TypedError{Type: hooks.ContextOverflowError, Err: errors.New("too long")}
			}
			return `{}`, nil
		})
		if err != nil || last.Model != "haiku" || last.Prompt != "shorter" || !slices.Equal(p.fired, []string{"onErrorOccurred context_overflow opus too long"}) {
			t.Errorf("got %v, %+v, %v", err, last, p.fired)
		}
	})
	t.Run("onPreCompact preserves context and exports state", func(t *testing.T) {
		p := &squad{}
		e := use(t, meta, p)
		out := hooks.CompactBefore.Dispatch(t.Context(), e.Registry(), meta, hooks.Compaction{Tokens: 9, MaxTokens: 10, Strategy: "summary"})
		if !slices.Equal(out.Patch.Preserve, []string{"goal"}) || out.Patch.Export != `{"open":3}` || p.fired[0] != "onPreCompact 9 10 summary" {
			t.Errorf("got %+v, %v", out, p.fired)
		}
	})
	t.Run("onSubagentStart denies, changes the model or adds context, and onSubagentStop gets the results", func(t *testing.T) {
		p := &squad{}
		e := use(t, meta, p)
		run := func(ctx context.Context, start hooks.SubagentOutcome) error {
			if start.Input.Model != "haiku" || start.Context != "be brief" {
				t.Errorf("got %+v", start)
			}
			hooks.Report(ctx, hooks.Notes{Tokens: events.Tokens{Output: 3}, Files: []string{"x"}})
			return nil
		}
		if err := e.Subagent(t.Context(), hooks.Subagent{Name: "scout", Model: "opus", TaskType: "search", Charter: "c.md"}, run); err != nil {
			t.Error(err)
		}
		if err := e.Subagent(t.Context(), hooks.Subagent{Name: "ralph"}, run); !errors.Is(err, hooks.ErrDenied) {
			t.Errorf("got %v", err)
		}
		want := []string{"onSubagentStart scout opus search c.md", "onSubagentStop scout haiku 3 0 completed [x]", "onSubagentStart ralph   "}
		if diff := cmp.Diff(want, p.fired); diff != "" {
			t.Errorf("fired (-want +got):\n%s", diff)
		}
	})
	t.Run("all methods are optional, and a provider has only the hooks it needs", func(t *testing.T) {
		e := use(t, meta, onlySessions{})
		if list := e.Registry().List(); len(list) != 1 || list[0].Point != events.SessionStart {
			t.Errorf("got %+v", list)
		}
		if out, err := e.Tool(t.Context(), hooks.ToolCall{Tool: "T", Args: `1`}, echo); err != nil || out.Result != `1` {
			t.Errorf("got %+v, %v", out, err)
		}
	})
	t.Run("HookContext reaches every hook with session, agent, team root and time", func(t *testing.T) {
		var got hooks.Meta
		e := use(t, meta)
		hooks.ToolBefore.On(e.Registry(), func(_ context.Context, m hooks.Meta, _ hooks.ToolCall) (*hooks.ToolDecision, error) {
			got = m
			return nil, nil
		})
		_, _ = e.Tool(t.Context(), hooks.ToolCall{Tool: "T"}, echo)
		if got.Session != "s" || got.Agent != "eecom" || got.TeamRoot != "/team" || time.Since(got.Time) > time.Minute {
			t.Errorf("got %+v", got)
		}
	})
}

type onlySessions struct{}

func (onlySessions) SessionStart(context.Context, hooks.Meta, hooks.Session) (*hooks.SessionDecision, error) {
	return nil, nil
}

// verdicts is a provider that always gives the same answer.
type verdicts struct {
	verdict hooks.Verdict
	reason  string
	context string
	asked   int
	ended   int
	fail    error
}

func (v *verdicts) PreToolUse(context.Context, hooks.Meta, hooks.ToolCall) (*hooks.ToolDecision, error) {
	v.asked++
	if v.verdict == "" && v.context == "" {
		return nil, v.fail
	}
	return &hooks.ToolDecision{Verdict: v.verdict, Reason: v.reason, Context: v.context}, v.fail
}

func (v *verdicts) SessionEnd(context.Context, hooks.Meta, events.SessionEndedData) error {
	v.ended++
	return v.fail
}

func TestSeed000_Composition(t *testing.T) {
	call := hooks.ToolCall{Tool: "bash", Args: `{"command":"git reset --hard"}`}
	t.Run("CompositeHooksProvider lets a deny win in any order of the providers", func(t *testing.T) {
		e := use(t, hooks.Meta{}, provider.Composite(provider.DenyWins, &verdicts{verdict: hooks.Allow}, &verdicts{}, defaults(t, policy.Config{})))
		if out, err := e.Tool(t.Context(), call, echo); !errors.Is(err, hooks.ErrDenied) || !strings.Contains(out.Error, "git reset --hard") {
			t.Errorf("got %+v, %v", out, err)
		}
	})
	t.Run("CompositeHooksProvider uses the first non-null result in the unsafe mode FirstNonNil", func(t *testing.T) {
		first, second := &verdicts{verdict: hooks.Allow}, &verdicts{verdict: hooks.Deny}
		e := use(t, hooks.Meta{}, provider.Composite(provider.FirstNonNil, &verdicts{}, first, second))
		if _, err := e.Tool(t.Context(), call, echo); err != nil || first.asked != 1 || second.asked != 0 {
			t.Errorf("got %v, asked %d and %d", err, first.asked, second.asked)
		}
	})
	t.Run("CompositeHooksProvider calls the void hooks of all providers, even if one fails", func(t *testing.T) {
		for _, mode := range []provider.Mode{provider.DenyWins, provider.FirstNonNil} {
			list := []*verdicts{{}, {fail: errors.New("no")}, {}}
			e := use(t, hooks.Meta{}, provider.Composite(mode, list[0], list[1], list[2]))
			told := hooks.SessionEnded.Dispatch(t.Context(), e.Registry(), hooks.Meta{}, events.SessionEndedData{})
			if list[0].ended != 1 || list[1].ended != 1 || list[2].ended != 1 || len(told.Errors) != 1 {
				t.Errorf("mode %d: got %+v, errors %v", mode, list, told.Errors)
			}
		}
	})
	t.Run("DefaultHooksProvider has policies on tool calls and no lifecycle hooks", func(t *testing.T) {
		e := use(t, hooks.Meta{}, defaults(t, policy.Config{AllowedWritePaths: []string{"src/**"}, ScrubPII: true, Mode: policy.Compat}))
		if out, err := e.Tool(t.Context(), hooks.ToolCall{Tool: "edit", Args: `{"path":"etc/passwd"}`}, echo); err == nil ||
			out.Error != `File write blocked: "etc/passwd" does not match allowed paths. Allowed patterns: src/**` {
			t.Errorf("got %+v, %v", out, err)
		}
		out, err := e.Tool(t.Context(), hooks.ToolCall{Tool: "view"}, func(context.Context, hooks.ToolCall) (hooks.JSON, error) { return `"mail a@b.example"`, nil })
		if err != nil || out.Result != `"mail [EMAIL_REDACTED]"` {
			t.Errorf("got %+v, %v", out, err)
		}
		for _, h := range e.Registry().List() {
			if h.Point == events.SessionStart || h.Point == events.PromptSubmit || h.Point == events.Error || h.Point == events.CompactBefore {
				t.Errorf("hooks into %s", h.Point)
			}
		}
	})
	t.Run("DefaultHooksProvider returns the reviewer lockout, like getReviewerLockout", func(t *testing.T) {
		p := defaults(t, policy.Config{ReviewerLockout: true, Mode: policy.Compat})
		p.Lockout().Lockout("src/a.go", "eecom")
		out, err := use(t, hooks.Meta{Agent: "eecom"}, p).Tool(t.Context(), hooks.ToolCall{Tool: "edit", Args: `{"path":"src/a.go"}`}, echo)
		if !errors.Is(err, hooks.ErrDenied) || !strings.HasPrefix(out.Error, `Reviewer lockout: Agent "eecom" is locked out of artifact "src/a.go".`) {
			t.Errorf("got %+v, %v", out, err)
		}
	})
	t.Run("Without hooks everything is as before", func(t *testing.T) {
		out, err := use(t, hooks.Meta{}).Tool(t.Context(), call, echo)
		if err != nil || out.Result != call.Args {
			t.Errorf("got %+v, %v", out, err)
		}
	})
	t.Run("Migration lets own hooks and the default provider work together", func(t *testing.T) {
		own := &verdicts{verdict: hooks.Deny, reason: "mine"}
		e := use(t, hooks.Meta{}, defaults(t, policy.Config{}), own)
		if out, err := e.Tool(t.Context(), hooks.ToolCall{Tool: "view"}, echo); err == nil || out.Error != "mine" {
			t.Errorf("got %+v, %v", out, err)
		}
	})
	t.Run("The overhead per hook is less than 1 ms", func(t *testing.T) {
		e := use(t, hooks.Meta{}, defaults(t, policy.Config{AllowedWritePaths: []string{"**"}, ScrubPII: true}))
		var took []time.Duration
		for range 201 {
			began := time.Now()
			hooks.ToolBefore.Dispatch(t.Context(), e.Registry(), hooks.Meta{}, hooks.ToolCall{Tool: "bash", Args: `{"command":"go test ./..."}`})
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		if median := took[len(took)/2]; median >= time.Millisecond {
			t.Errorf("a dispatch of all policies takes %v", median)
		} else {
			t.Logf("a dispatch of all policies takes %v", median)
		}
	})
	t.Run("The telemetry provider sees that all hooks fire", func(t *testing.T) {
		m := &meter{}
		everything(t, use(t, hooks.Meta{Agent: "eecom"}, provider.NewObservability(provider.ObservabilityOptions{Prefix: "squad", Meter: m})))
		for _, name := range []string{
			"squad.tool.request", "squad.tool.call", "squad.session.start", "squad.session.end", "squad.prompt",
			"squad.error", "squad.compaction", "squad.agent.spawn", "squad.agent.complete",
		} {
			if m.counts[name] == 0 {
				t.Errorf("%s never fired", name)
			}
		}
	})
}

func everything(t *testing.T, e *hooks.Engine) {
	t.Helper()
	err := e.Session(t.Context(), "s", hooks.Session{Model: "opus"}, func(ctx context.Context, _ hooks.SessionOutcome) error {
		return e.Run(ctx, hooks.RunInfo{Type: "PLAN"}, func(ctx context.Context) error {
			hooks.PromptSubmit.Dispatch(ctx, e.Registry(), e.Meta(ctx), hooks.Prompt{Text: "go"})
			hooks.CompactBefore.Dispatch(ctx, e.Registry(), e.Meta(ctx), hooks.Compaction{Trigger: "auto"})
			_, err := e.Step(ctx, hooks.StepInfo{}, func(ctx context.Context, _ hooks.Attempt) (hooks.JSON, error) {
				_, err := e.Tool(ctx, hooks.ToolCall{Tool: "bash", Args: `{"command":"ls"}`}, func(context.Context, hooks.ToolCall) (hooks.JSON, error) { return "", os.ErrClosed })
				return `{}`, err
			})
			if err != nil {
				return err
			}
			return e.Subagent(ctx, hooks.Subagent{Name: "scout", Model: "haiku"}, func(ctx context.Context, _ hooks.SubagentOutcome) error {
				hooks.Report(ctx, hooks.Notes{Tokens: events.Tokens{Input: 5, Output: 2}})
				return nil
			})
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}
