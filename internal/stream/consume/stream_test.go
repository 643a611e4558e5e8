package consume_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func goOn(reasons *[]string) consume.Options {
	return consume.Options{OnStreamChanged: func(reason string) error {
		*reasons = append(*reasons, reason)
		return nil
	}}
}

//guarantee:verify-stream-replaced
func TestRun_RecreatedStreamIsNoticed(t *testing.T) {
	s := natstest.Start(t, tampered())
	js := s.JetStream(t)
	publish(t, js, "acme", 1, 10)
	p := newMemory()
	drain(t, js, consume.Options{}, p)
	if err := js.DeleteStream(t.Context(), space.EventStream()); err != nil {
		t.Fatal(err)
	}
	s.EnsureStreams(t)
	publish(t, js, "acme", 1, 12)

	err := consume.Run(t.Context(), js, consume.Options{Durable: "test"}, p)
	if !errors.Is(err, consume.ErrStreamChanged) {
		t.Fatalf("got %v, want %v", err, consume.ErrStreamChanged)
	}
	var reasons []string
	drain(t, js, goOn(&reasons), p)
	check(t, p, append(upTo(10), upTo(12)...))
	if len(reasons) != 1 || !strings.Contains(reasons[0], "created") {
		t.Errorf("got reasons %q", reasons)
	}
	drain(t, js, consume.Options{}, p) // the new stream is accepted now
}

func TestRun_RecreatedStreamIsEmpty(t *testing.T) {
	s := natstest.Start(t, tampered())
	js := s.JetStream(t)
	publish(t, js, "acme", 1, 10)
	p := newMemory()
	drain(t, js, consume.Options{}, p)
	if err := js.DeleteStream(t.Context(), space.EventStream()); err != nil {
		t.Fatal(err)
	}
	s.EnsureStreams(t)
	var reasons []string
	for range 2 {
		opts := goOn(&reasons)
		opts.Progress = func(p consume.Progress) {
			if p.Err != nil {
				t.Errorf("reading was interrupted: %v", p.Err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		opts.Durable, opts.Drain = "test", true
		if err := consume.Run(ctx, js, opts, p); err != nil {
			t.Fatal(err)
		}
	}
	if len(reasons) != 1 {
		t.Errorf("got reasons %q", reasons)
	}
}

func TestRun_StreamRecreatedWhileRunning(t *testing.T) {
	s := natstest.Start(t, tampered())
	js := s.JetStream(t)
	publish(t, js, "acme", 1, 10)
	p := newMemory()
	var reasons []string
	opts := goOn(&reasons)
	opts.IdleCheck = 20 * time.Millisecond
	r := start(t, js, opts, p)
	p.wait(t, 10)
	if err := js.DeleteStream(t.Context(), space.EventStream()); err != nil {
		t.Fatal(err)
	}
	s.EnsureStreams(t)
	publish(t, js, "acme", 11, 3)
	p.wait(t, 13)
	r.stop(t)
	check(t, p, append(upTo(10), upTo(3)...))
	if len(reasons) != 1 {
		t.Errorf("got reasons %q", reasons)
	}
}

// After a power failure or a restored backup, the broker assigns the last sequences again.
//
//guarantee:verify-stream-replaced
func TestRun_RolledBackStreamIsNoticed(t *testing.T) {
	for _, test := range []struct {
		name  string
		again int // messages published after the rollback
		want  string

		passed func(*memory) []consume.Position // what the projection remembers
		common int                              // messages that it need not read again
	}{
		{"Shorter", 3, "ends at", nothing, 0},
		{"AsLongWithOtherMessages", 20, "another one", nothing, 0},
		{"ShorterFromWhatIsCommon", 3, "ends at", all, 10},
		{"AsLongFromWhatIsCommon", 20, "another one", all, 10},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir, backup := t.TempDir(), t.TempDir()
			s := natstest.Listen(t, dir)
			js := s.JetStream(t)
			publish(t, js, "acme", 1, 10)
			s.Stop()
			copyDir(t, backup, dir)
			s.Restart(t)
			js = s.JetStream(t)
			publish(t, js, "acme", 11, 10)
			p := newMemory()
			drain(t, js, consume.Options{}, p)
			s.Stop()
			if err := os.RemoveAll(s.Dir()); err != nil {
				t.Fatal(err)
			}
			copyDir(t, dir, backup)
			s.Restart(t)
			js = s.JetStream(t)
			publish(t, js, "acme", 1000, test.again)

			err := consume.Run(t.Context(), js, consume.Options{Durable: "test"}, p)
			if !errors.Is(err, consume.ErrStreamChanged) || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v, want %v that says %q", err, consume.ErrStreamChanged, test.want)
			}
			var reasons []string
			opts := goOn(&reasons)
			opts.Passed = func(context.Context) ([]consume.Position, error) { return test.passed(p), nil }
			drain(t, js, opts, p)
			check(t, p, append(upTo(20), upTo(uint64(10 + test.again))[test.common:]...))
		})
	}
}

func nothing(*memory) []consume.Position { return nil }

func all(m *memory) []consume.Position {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []consume.Position
	for i, seq := range slices.Backward(m.seqs) {
		list = append(list, consume.Position{Sequence: seq, Stream: m.pos.Stream, Hash: events.HashOf([]byte(m.data[i]))})
	}
	return list
}

func copyDir(t *testing.T, to, from string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

func TestRun_OutlivesServerRestarts(t *testing.T) {
	s := natstest.Listen(t, t.TempDir())
	js := s.JetStream(t)
	p := newMemory()
	r := start(t, js, consume.Options{IdleCheck: 100 * time.Millisecond}, p)
	for i := range 5 {
		publish(t, s.JetStream(t), "acme", 1+i*40, 20)
		if i%2 == 0 {
			p.wait(t, i*40+20) // otherwise it stops with messages in flight
		}
		s.Stop()
		s.Restart(t)
		publish(t, s.JetStream(t), "acme", 21+i*40, 20)
	}
	p.wait(t, 200)
	r.stop(t)
	check(t, p, upTo(200))
}

func TestRun_ReplacesADurableThatCannotBeUpdated(t *testing.T) {
	js := natstest.Start(t).JetStream(t)
	publish(t, js, "acme", 1, 3)
	if _, err := js.CreateConsumer(t.Context(), space.EventStream(), explicitConsumer("test")); err != nil {
		t.Fatal(err)
	}
	p := newMemory()
	drain(t, js, consume.Options{}, p)
	check(t, p, upTo(3))
}

func TestRun_RefusesBadOptions(t *testing.T) {
	js := natstest.Start(t).JetStream(t)
	for _, opts := range []consume.Options{{}, {Durable: "test", Tenant: "\xff"}, {Durable: strings.Repeat("x", 300)}} {
		if err := consume.Run(t.Context(), js, opts, newMemory()); err == nil {
			t.Errorf("%+v: got nil, want an error", opts)
		}
	}
}
