package hooks

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/hooktrail/hooktrail/pkg/events"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// keeper is an Appender that checks and stores events.
type keeper struct {
	t   reporter
	err error // returned by Append unless nil

	mu  sync.Mutex
	all []events.Event
}

func (k *keeper) Append(ctx context.Context, e events.Event) (events.Event, error) {
	if k.err != nil {
		return e, k.err
	}
	if err := ctx.Err(); err != nil {
		k.t.Errorf("append %s: %v", e.Type, err)
	}
	stored := e
	stored.Producer, stored.Sequence, stored.Salt = "p", 1, "AAECAwQFBgcICQoLDA0ODw"
	if err := stored.Normalize(); err != nil {
		k.t.Errorf("append %s: %v\n%s", e.Type, err, e.Data)
	}
	if _, err := events.Decode(stored.Encode()); err != nil {
		k.t.Errorf("append %s: %v", e.Type, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all = append(k.all, stored)
	return stored, nil
}

func (k *keeper) events() []events.Event {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.all)
}

// only returns the single event of a dispatch and its payload. It ignores late executions.
func only[T any](t *testing.T, k *keeper, kind events.Kind) (events.Event, T) {
	t.Helper()
	all := slices.DeleteFunc(k.events(), func(e events.Event) bool { return e.Kind() == events.HookExecuted })
	if len(all) != 1 || all[0].Kind() != kind {
		t.Fatalf("%d events, want one %s", len(all), kind)
	}
	return all[0], payloadOf[T](t, all[0])
}

type reporter interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
}

func payloadOf[T any](t reporter, e events.Event) T {
	t.Helper()
	p, err := events.Payload[T](e)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var somewhere = Meta{Tenant: "acme", Run: "run-1", Agent: "coder", Session: "s-1"}

// recorded returns a registry and the Appender that it records to.
func recorded(t *testing.T) (*Registry, *keeper) {
	t.Helper()
	k := &keeper{t: t}
	return tidy(t, NewRegistry(Options{Appender: k})), k
}

func tidy(t *testing.T, r *Registry) *Registry {
	t.Helper()
	t.Cleanup(func() {
		if err := r.Err(); err != nil {
			t.Error(err)
		}
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

type toolHook = func(context.Context, Meta, ToolCall) (*ToolDecision, error)

// says returns a hook that always answers d and appends its name to called.
func says(called *[]string, name string, d *ToolDecision) toolHook {
	return func(context.Context, Meta, ToolCall) (*ToolDecision, error) {
		*called = append(*called, name)
		return d, nil
	}
}

func fails(err error) toolHook {
	return func(context.Context, Meta, ToolCall) (*ToolDecision, error) { return nil, err }
}

func patch(args JSON) *ToolPatch { return &ToolPatch{Args: args} }

// isolations differ only for hooks that do not return.
var isolations = map[string]Option{"Pooled": Isolate(Pooled), "Inline": Isolate(Inline), "External": Isolate(External)}

var errTest = errors.New("the secret is hunter2")

func logged(t *testing.T) (*Registry, *bytes.Buffer) {
	t.Helper()
	var b bytes.Buffer
	return tidy(t, NewRegistry(Options{Logger: slog.New(slog.NewTextHandler(&b, nil))})), &b
}

func names(executions []Execution) string {
	var list []string
	for _, x := range executions {
		list = append(list, x.Name)
	}
	return strings.Join(list, " ")
}

// forever returns a function that blocks until the test ends and ignores contexts.
func forever(t *testing.T) (block func(), release func()) {
	t.Helper()
	c := make(chan struct{})
	release = sync.OnceFunc(func() { close(c) })
	t.Cleanup(release)
	return func() { <-c }, release
}
