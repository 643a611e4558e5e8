package auditor

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// limit bounds every wait: reached only when something hangs.
const limit = 3 * time.Minute

// deadline returns a context that ends when the test hangs.
func deadline(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), limit)
	tb.Cleanup(cancel)
	return ctx
}

// server runs a server whose streams can be tampered with.
func server(tb testing.TB) *natstest.Server {
	tb.Helper()
	return natstest.Listen(tb, tb.TempDir(), natstest.Options{AllowTamper: true, MaxBytes: 512 << 20, NoSync: true})
}

func connect(tb testing.TB, s *natstest.Server) *broker.Broker {
	tb.Helper()
	b, err := broker.Open(deadline(tb), broker.Options{URL: s.URL(), Name: "test", AllowTamper: true, StreamMaxBytes: 512 << 20})
	if err != nil {
		tb.Fatalf("broker: %v", err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		if err := b.Close(ctx); err != nil {
			tb.Errorf("close broker: %v", err)
		}
	})
	return b
}

// outbox opens a publisher with an outbox of its own.
func outbox(tb testing.TB, b *broker.Broker, name, tenant string) *publish.Publisher {
	tb.Helper()
	p, err := publish.Open(deadline(tb), b.Conn(), publish.Options{
		Dir: filepath.Join(tb.TempDir(), name), Name: name, Tenant: tenant, Redactor: publish.NoRedaction,
	})
	if err != nil {
		tb.Fatalf("publisher: %v", err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		if err := p.Close(ctx); err != nil {
			tb.Errorf("close publisher: %v", err)
		}
	})
	return p
}

// appendEvent publishes one event.
func appendEvent(tb testing.TB, p *publish.Publisher, run string, kind events.Kind, call string, payload any) events.Event {
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

// publishRun publishes a run of n tool calls and waits until it is in the stream.
func publishRun(tb testing.TB, p *publish.Publisher, run string, n int) {
	tb.Helper()
	appendEvent(tb, p, run, events.RunStarted, "", events.RunStartedData{Title: "test"})
	for i := range n {
		call := fmt.Sprintf("%s-%d", run, i)
		appendEvent(tb, p, run, events.ToolBefore, call, events.ToolBeforeData{Tool: "Bash", Args: []byte(`{"command":"ls"}`)})
		appendEvent(tb, p, run, events.ToolResult, call, events.ToolResultData{Tool: "Bash", Status: events.ToolSuccess, Result: []byte(`"ok"`)})
	}
	appendEvent(tb, p, run, events.RunFinished, "", events.RunFinishedData{Success: true, ToolCalls: n})
	if err := p.Flush(deadline(tb)); err != nil {
		tb.Fatalf("flush: %v", err)
	}
}

func drain(tb testing.TB, b *broker.Broker, dir string) {
	tb.Helper()
	if err := Run(deadline(tb), Options{Broker: b, DataDir: dir, Drain: true}); err != nil {
		tb.Fatalf("drain: %v", err)
	}
}

func verify(tb testing.TB, dir, tenant string) verifier.Report {
	tb.Helper()
	key, _, err := ledger.ReadVerifier(KeyDir(dir))
	if err != nil {
		tb.Fatal(err)
	}
	path, err := ledger.Path(LedgerDir(dir), tenant)
	if err != nil {
		tb.Fatal(err)
	}
	r, err := verifier.Verify(deadline(tb), path, verifier.Options{Key: key, Tenant: tenant})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func wantVerdicts(tb testing.TB, r verifier.Report, integrity verifier.Integrity, completeness verifier.Completeness) {
	tb.Helper()
	if r.Integrity != integrity || r.Completeness != completeness {
		tb.Fatalf("got %s and %s, want %s and %s: %+v", r.Integrity, r.Completeness, integrity, completeness, r)
	}
}

// command runs an auditor command and returns its exit status and output.
func command(tb testing.TB, args ...string) (status int, stdout string) {
	tb.Helper()
	status, stdout, stderr := commandBoth(tb, args...)
	if stderr != "" {
		tb.Logf("%v: %s", args, stderr)
	}
	return status, stdout
}

// commandBoth returns what the command says to stderr, too.
func commandBoth(tb testing.TB, args ...string) (status int, stdout, stderr string) {
	tb.Helper()
	var out bytes.Buffer
	var errs atOnce
	cmd := Command()
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	status = cli.Execute(deadline(tb), cmd, args)
	return status, out.String(), errs.String()
}

// atOnce is what several goroutines log to, as they may to a file.
type atOnce struct {
	mu sync.Mutex // guards what follows
	bytes.Buffer
}

// Write implements io.Writer.
func (a *atOnce) Write(text []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.Buffer.Write(text)
}
