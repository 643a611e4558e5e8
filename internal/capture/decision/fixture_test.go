package decision

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// recorder stores events. It fails while full is set.
type recorder struct {
	mu     sync.Mutex // guards events and full
	events []events.Event
	full   bool
}

func (r *recorder) Append(_ context.Context, e events.Event) (events.Event, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.full {
		return e, errors.New("outbox is full")
	}
	r.events = append(r.events, e)
	return e, nil
}

func (r *recorder) all() []events.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.events
}

// answers returns a registry with one hook, which denies "rm" and calls other for all
// other commands.
func answers(t testing.TB, to hooks.Appender, other func(context.Context) error) *hooks.Registry {
	t.Helper()
	r := hooks.NewRegistry(hooks.Options{Appender: to, Source: "/decisions"})
	hooks.ToolBefore.On(r, func(ctx context.Context, _ hooks.Meta, call hooks.ToolCall) (*hooks.Decision[hooks.ToolPatch], error) {
		if command, _ := call.Args.Text("command"); strings.HasPrefix(command, "rm") {
			return &hooks.Decision[hooks.ToolPatch]{Verdict: hooks.Deny, Reason: "no rm"}, nil
		}
		if other != nil {
			return nil, other(ctx)
		}
		return nil, nil //nolint:nilnil // no opinion
	}, hooks.Name("rm"), hooks.Timeout(time.Minute), hooks.OnFailure(hooks.Block))
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

func serve(t testing.TB, opts Options) *nats.Conn {
	t.Helper()
	srv := natstest.Start(t, natstest.Options{NoStreams: true})
	run(t, New(opts), srv.Connect(t))
	return srv.Connect(t)
}

// run runs s on nc until the test ends, and waits until it answers.
func run(t testing.TB, s *Service, nc *nats.Conn) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, nc) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		subject, err := s.opts.Space.Decisions(s.opts.Tenant)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := nc.Request(subject, nil, time.Minute); !errors.Is(err, nats.ErrNoResponders) {
			return
		}
	}
}

const (
	ls = `{"event":"PreToolUse","tool":"Bash","args":{"command":"ls"},"session_id":"s1","agent":"coder"}`
	rm = `{"event":"PreToolUse","tool":"Bash","args":{"command":"rm x"},"session_id":"s1","agent":"coder"}`
)

func ask(t testing.TB, nc *nats.Conn, tenant, document string) *nats.Msg {
	t.Helper()
	subject, err := subjects.Space{}.Decisions(tenant)
	if err != nil {
		t.Fatal(err)
	}
	msg, err := nc.Request(subject, []byte(document), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return msg
}

func outcome(t testing.TB, data []byte) hooks.DocumentOutcome {
	t.Helper()
	var out hooks.DocumentOutcome
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return out
}
