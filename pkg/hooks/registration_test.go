package hooks

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// wrongGuard has a hook method with a wrong signature.
type wrongGuard struct{ onlyEnd }

func (wrongGuard) PreToolUse(context.Context, ToolCall) (*ToolDecision, error) {
	return DenyTool("never"), nil
}

// wrongEnabled has a hook and a condition that would be ignored.
type wrongEnabled struct{ onlyEnd }

func (wrongEnabled) IsEnabled() bool { return false }

// wrongRegister has a Register method without options.
type wrongRegister struct{ onlyEnd }

func (wrongRegister) Register(*Registry) ([]ID, error) { return nil, nil }

// otherRegister registers itself at another type.
type otherRegister struct{ onlyEnd }

func (otherRegister) Register(*strings.Builder) {}

// pointerGuard has a hook method with a pointer receiver.
type pointerGuard struct{ onlyEnd }

func (*pointerGuard) PreToolUse(context.Context, Meta, ToolCall) (*ToolDecision, error) {
	return DenyTool("never"), nil
}

func TestUse_RefusesMethodsThatItWouldIgnore(t *testing.T) {
	for name, test := range map[string]struct {
		provider any
		want     string
	}{
		"WrongType":       {wrongGuard{}, "method PreToolUse has the type func(context.Context, hooks.ToolCall)"},
		"WrongEnabled":    {wrongEnabled{}, "method IsEnabled has the type func() bool, want func(context.Context, hooks.Meta) bool"},
		"WrongRegister":   {wrongRegister{}, "method Register has the type"},
		"PointerReceiver": {pointerGuard{}, "method PreToolUse has a pointer receiver: pass a pointer"},
		"NilPointer":      {(*pointerGuard)(nil), "nil pointer"},
		"Nil":             {nil, "no provider"},
	} {
		r := tidy(t, NewRegistry(Options{}))
		ids, err := r.Use(test.provider)
		if err == nil || !strings.Contains(err.Error(), test.want) || ids != nil || len(r.List()) > 0 {
			t.Errorf("%s: %v, %v, %d hooks, want %q", name, ids, err, len(r.List()), test.want)
		}
	}
	r := tidy(t, NewRegistry(Options{}))
	for _, provider := range []any{&pointerGuard{}, otherRegister{}} {
		if _, err := r.Use(provider); err != nil {
			t.Error(err)
		}
	}
}

func TestRunner_RefusesMethodsThatItWouldIgnore(t *testing.T) {
	runner := NewRunner(RunnerOptions{})
	err := runner.Use(pointerGuard{})
	if err == nil || !strings.Contains(err.Error(), "pass a pointer") {
		t.Errorf("got %v", err)
	}
	if err := runner.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestUse_KnowsEveryPoint(t *testing.T) {
	for i, p := range Points() {
		r := NewRegistry(Options{})
		if _, found, _ := hookMethods[i].register(r, everything{map[string]int{}}, nil); !found || r.List()[0].Point != p.Kind {
			t.Errorf("method %s is not for %s", hookMethods[i].name, p.Kind)
		}
	}
}

func TestOn_RefusesWhatCannotRun(t *testing.T) {
	tool, err := ForTool("Bash")
	if err != nil {
		t.Fatal(err)
	}
	told := func(context.Context, Meta, events.RunStartedData) error { return nil }
	for name, register := range map[string]func(*Registry) (ID, error){
		"NilFunction":     func(r *Registry) (ID, error) { return ToolBefore.Register(r, nil) },
		"NilTransform":    func(r *Registry) (ID, error) { return ToolResult.Register(r, nil) },
		"NilNotification": func(r *Registry) (ID, error) { return RunStarted.Register(r, nil) },
		"NilRecovery":     func(r *Registry) (ID, error) { return Error.Register(r, nil) },
		"NilOption":       func(r *Registry) (ID, error) { return ToolBefore.Register(r, noHook, nil) },
		"NilMatcher":      func(r *Registry) (ID, error) { return ToolBefore.Register(r, noHook, Match(nil)) },
		"AsyncDecision":   func(r *Registry) (ID, error) { return ToolBefore.Register(r, noHook, Async()) },
		"WhenDecision":    func(r *Registry) (ID, error) { return ToolBefore.Register(r, noHook, WhenFailure()) },
		"ToolOfARun":      func(r *Registry) (ID, error) { return RunStarted.Register(r, told, Match(tool)) },
		"UnknownMode":     func(r *Registry) (ID, error) { return ToolBefore.Register(r, noHook, OnFailure(99)) },
		"NoRegistry":      func(*Registry) (ID, error) { return ToolBefore.Register(nil, noHook) },
	} {
		r := NewRegistry(Options{})
		if id, err := register(r); id != "" || err == nil || len(r.List()) > 0 || r.Err() != nil {
			t.Errorf("%s: %q, %v, %d hooks", name, id, err, len(r.List()))
		}
	}
	var log bytes.Buffer
	r := NewRegistry(Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if id := ToolBefore.On(r, noHook, Async()); id != "" || r.Err() == nil || !strings.Contains(log.String(), "hook not registered") {
		t.Errorf("%q, %v, log %q", id, r.Err(), log.String())
	}
}
