package consume_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
)

var space subjects.Space

// memory is a projection that survives a restart of Run, like a file.
type memory struct {
	mu    sync.Mutex // guards the fields below
	pos   consume.Position
	seqs  []uint64
	data  []string
	calls int

	// fail decides whether a call commits and which error it returns.
	fail    func(call int, batch []consume.Message) (commit bool, err error)
	changed chan struct{} // gets a token after each call
}

func newMemory() *memory { return &memory{changed: make(chan struct{}, 1)} }

func (m *memory) Position(context.Context) (consume.Position, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pos, nil
}

func (m *memory) Apply(_ context.Context, batch []consume.Message, next consume.Position) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	commit, err := true, error(nil)
	if m.fail != nil {
		commit, err = m.fail(m.calls, batch)
	}
	if commit {
		for _, msg := range batch {
			m.seqs, m.data = append(m.seqs, msg.Sequence), append(m.data, string(msg.Data))
		}
		m.pos = next
	}
	select {
	case m.changed <- struct{}{}:
	default:
	}
	return err
}

func (m *memory) applied() []uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]uint64(nil), m.seqs...)
}

func (m *memory) wait(t *testing.T, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for len(m.applied()) < n {
		select {
		case <-m.changed:
		case <-ctx.Done():
			t.Fatalf("got %d messages applied, want %d", len(m.applied()), n)
		}
	}
}

type running struct {
	cancel context.CancelFunc
	done   chan error
}

func start(t *testing.T, js jetstream.JetStream, opts consume.Options, p consume.Projection) *running {
	t.Helper()
	if opts.Durable == "" {
		opts.Durable = "test"
	}
	if testing.Verbose() {
		opts.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{cancel: cancel, done: make(chan error, 1)}
	go func() { r.done <- consume.Run(ctx, js, opts, p) }()
	return r
}

func (r *running) stop(t *testing.T) {
	t.Helper()
	r.cancel()
	if err := <-r.done; err != nil {
		t.Errorf("run: %v", err)
	}
}

func drain(t *testing.T, js jetstream.JetStream, opts consume.Options, p consume.Projection) {
	t.Helper()
	opts.Drain = true
	if opts.Durable == "" {
		opts.Durable = "test"
	}
	if testing.Verbose() {
		opts.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if err := consume.Run(ctx, js, opts, p); err != nil {
		t.Fatalf("drain: %v", err)
	}
}

// publish stores n messages whose data is the tenant and a number from first.
func publish(t *testing.T, js jetstream.JetStream, tenant string, first, n int) {
	t.Helper()
	subject, err := space.Event(tenant, "p1", "r1", "run.started")
	if err != nil {
		t.Fatal(err)
	}
	acks := make([]jetstream.PubAckFuture, 0, n)
	for i := first; i < first+n; i++ {
		ack, err := js.PublishAsync(subject, fmt.Appendf(nil, "%s %d", tenant, i), jetstream.WithStallWait(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		acks = append(acks, ack)
	}
	for _, ack := range acks {
		select {
		case <-ack.Ok():
		case err := <-ack.Err():
			t.Fatal(err)
		}
	}
}

func upTo(n uint64) []uint64 { return between(1, n) }

func between(first, last uint64) []uint64 {
	var all []uint64
	for i := first; i <= last; i++ {
		all = append(all, i)
	}
	return all
}

func remove(t *testing.T, js jetstream.JetStream, seq uint64) {
	t.Helper()
	stream, err := js.Stream(t.Context(), space.EventStream())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.DeleteMsg(t.Context(), seq); err != nil {
		t.Fatal(err)
	}
}

func tampered() natstest.Options { return natstest.Options{AllowTamper: true} }

func explicitConsumer(name string) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable: name, AckPolicy: jetstream.AckExplicitPolicy, DeliverPolicy: jetstream.DeliverNewPolicy,
	}
}
