// Package auditortest contains helpers for tests of the auditor and of the auditor command, such
// as a broker or witnesses.
package auditortest

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// Limit is the longest time that a test waits for something before it fails.
const Limit = 3 * time.Minute

// Deadline returns a context that ends after [Limit].
func Deadline(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), Limit)
	tb.Cleanup(cancel)
	return ctx
}

// Server runs a NATS server that lets tests change its streams.
func Server(tb testing.TB) *natstest.Server {
	tb.Helper()
	return natstest.Listen(tb, tb.TempDir(), natstest.Options{AllowTamper: true, MaxBytes: 512 << 20, NoSync: true})
}

// Connect returns a broker that is connected to the NATS server s. The broker is closed when the
// test ends.
func Connect(tb testing.TB, s *natstest.Server) *broker.Broker {
	tb.Helper()
	b, err := broker.Open(Deadline(tb), broker.Options{URL: s.URL(), Name: "test", AllowTamper: true, StreamMaxBytes: 512 << 20})
	if err != nil {
		tb.Fatalf("broker: %v", err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), Limit)
		defer cancel()
		if err := b.Close(ctx); err != nil {
			tb.Errorf("close broker: %v", err)
		}
	})
	return b
}

// Outbox opens a publisher with a new outbox.
func Outbox(tb testing.TB, b *broker.Broker, name, tenant string) *publish.Publisher {
	tb.Helper()
	return OutboxWith(tb, b, name, tenant, 30*24*time.Hour) // because some tests set the auditor's clock ahead
}

// OutboxWith is [Outbox] with a heartbeat interval, where 0 is the default.
func OutboxWith(tb testing.TB, b *broker.Broker, name, tenant string, heartbeat time.Duration) *publish.Publisher {
	tb.Helper()
	p, err := publish.Open(Deadline(tb), b.Conn(), publish.Options{
		Dir: filepath.Join(tb.TempDir(), name), Name: name, Tenant: tenant, Redactor: publish.NoRedaction,
		Heartbeat: heartbeat,
	})
	if err != nil {
		tb.Fatalf("publisher: %v", err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), Limit)
		defer cancel()
		if err := p.Close(ctx); err != nil {
			tb.Errorf("close publisher: %v", err)
		}
	})
	return p
}

// AppendEvent appends one event to the outbox of p.
func AppendEvent(tb testing.TB, p *publish.Publisher, run string, kind events.Kind, call string, payload any) events.Event {
	tb.Helper()
	e, err := events.New(kind, "/test", payload)
	if err != nil {
		tb.Fatal(err)
	}
	e.Run, e.ToolCall = run, call
	e, err = p.Append(tb.Context(), e)
	if err != nil {
		tb.Fatalf("append: %v", err)
	}
	return e
}

// PublishRun publishes a run with n tool calls and waits until the stream has it.
func PublishRun(tb testing.TB, p *publish.Publisher, run string, n int) {
	tb.Helper()
	AppendEvent(tb, p, run, events.RunStarted, "", events.RunStartedData{Title: "test"})
	for i := range n {
		call := fmt.Sprintf("%s-%d", run, i)
		AppendEvent(tb, p, run, events.ToolBefore, call, events.ToolBeforeData{Tool: "Bash", Args: []byte(`{"command":"ls"}`)})
		AppendEvent(tb, p, run, events.ToolResult, call, events.ToolResultData{Tool: "Bash", Status: events.ToolSuccess, Result: []byte(`"ok"`)})
	}
	AppendEvent(tb, p, run, events.RunFinished, "", events.RunFinishedData{Success: true, ToolCalls: n})
	if err := p.Flush(Deadline(tb)); err != nil {
		tb.Fatalf("flush: %v", err)
	}
}

// Verify verifies the ledger of a tenant.
func Verify(tb testing.TB, dir, tenant string) verifier.Report {
	tb.Helper()
	key, _, err := ledger.ReadVerifier(filepath.Join(dir, "keys"))
	if err != nil {
		tb.Fatal(err)
	}
	path, err := ledger.Path(filepath.Join(dir, "ledger"), tenant)
	if err != nil {
		tb.Fatal(err)
	}
	r, err := verifier.Verify(Deadline(tb), path, verifier.Options{Key: key, Tenant: tenant})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// WantVerdicts fails the test if the report has other verdicts.
func WantVerdicts(tb testing.TB, r verifier.Report, integrity verifier.Integrity, completeness verifier.Completeness) {
	tb.Helper()
	if r.Integrity != integrity || r.Completeness != completeness {
		tb.Fatalf("got %s and %s, want %s and %s: %+v", r.Integrity, r.Completeness, integrity, completeness, r)
	}
}

// EventStream returns the stream of events.
func EventStream(tb testing.TB, b *broker.Broker) jetstream.Stream {
	tb.Helper()
	s, err := b.JetStream().Stream(Deadline(tb), b.Space().EventStream())
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// DeleteMessage deletes a message from the stream of events.
func DeleteMessage(tb testing.TB, b *broker.Broker, sequence uint64) {
	tb.Helper()
	if err := EventStream(tb, b).DeleteMsg(Deadline(tb), sequence); err != nil {
		tb.Fatal(err)
	}
}

// Until waits until ok returns true. If this takes longer than [Limit], the test fails with the
// description what.
func Until(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), Limit)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			tb.Fatalf("waited in vain for: %s", what)
		}
	}
}
