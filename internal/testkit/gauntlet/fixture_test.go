package gauntlet

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

const (
	limit       = 5 * time.Minute // of every wait, only reached if something hangs
	streamBytes = 1 << 30
)

func deadline(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), limit)
	tb.Cleanup(cancel)
	return ctx
}

// world is a server with modifiable streams, and a data directory.
type world struct {
	server *natstest.Server
	broker *broker.Broker
	dir    string // of the auditor
}

func newWorld(tb testing.TB) *world {
	tb.Helper()
	s := natstest.Listen(tb, tb.TempDir(), natstest.Options{AllowTamper: true, MaxBytes: streamBytes, NoSync: true})
	w := &world{server: s, dir: tb.TempDir()}
	w.connect(tb)
	return w
}

func (w *world) connect(tb testing.TB) {
	tb.Helper()
	b, err := broker.Open(deadline(tb), broker.Options{URL: w.server.URL(), Name: "gauntlet", AllowTamper: true, StreamMaxBytes: streamBytes})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := b.Close(deadline(tb)); err != nil {
			tb.Errorf("close broker: %v", err)
		}
	})
	w.broker = b
}

func (w *world) producer(tb testing.TB, name string) *publish.Publisher {
	tb.Helper()
	return w.outbox(tb, name, tb.TempDir())
}

func (w *world) outbox(tb testing.TB, name, dir string) *publish.Publisher {
	tb.Helper()
	p, err := publish.Open(deadline(tb), w.broker.Conn(), publish.Options{Dir: dir, Name: name, Redactor: publish.NoRedaction})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := p.Close(deadline(tb)); err != nil {
			tb.Errorf("close publisher: %v", err)
		}
	})
	return p
}

func (w *world) drain(tb testing.TB) {
	tb.Helper()
	if err := auditor.Run(deadline(tb), auditor.Options{Broker: w.broker, DataDir: w.dir, Drain: true}); err != nil {
		tb.Fatalf("drain: %v", err)
	}
}

func (w *world) ledger(tb testing.TB, tenant string) string {
	tb.Helper()
	path, err := ledger.Path(auditor.LedgerDir(w.dir), tenant)
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

func (w *world) key(tb testing.TB) *key {
	tb.Helper()
	return openKey(tb, auditor.KeyDir(w.dir))
}

func send(tb testing.TB, p *publish.Publisher, tenant, run string, kind events.Kind, payload any, change ...func(*events.Event)) events.Event {
	tb.Helper()
	e, err := events.New(kind, "/gauntlet", payload)
	if err != nil {
		tb.Fatal(err)
	}
	e.Tenant, e.Run = tenant, run
	for _, c := range change {
		c(&e)
	}
	if e, err = p.Append(tb.Context(), e); err != nil {
		tb.Fatalf("append: %v", err)
	}
	return e
}

func sendRun(tb testing.TB, p *publish.Publisher, tenant, run string, n int) {
	tb.Helper()
	send(tb, p, tenant, run, events.RunStarted, events.RunStartedData{Title: "gauntlet"})
	sendCalls(tb, p, tenant, run, n)
	send(tb, p, tenant, run, events.RunFinished, events.RunFinishedData{Success: true, ToolCalls: n})
}

func sendCalls(tb testing.TB, p *publish.Publisher, tenant, run string, n int) {
	tb.Helper()
	for i := range n {
		call := func(e *events.Event) { e.ToolCall = fmt.Sprintf("%s-%d", run, i) }
		send(tb, p, tenant, run, events.ToolBefore, events.ToolBeforeData{Tool: "Bash", Args: fmt.Appendf(nil, `{"command":"echo %d"}`, i)}, call)
		send(tb, p, tenant, run, events.ToolResult, events.ToolResultData{Tool: "Bash", Status: events.ToolSuccess, Result: fmt.Appendf(nil, `"of %d"`, i)}, call)
	}
}

func flush(tb testing.TB, list ...*publish.Publisher) {
	tb.Helper()
	for _, p := range list {
		if err := p.Flush(deadline(tb)); err != nil {
			tb.Fatalf("flush: %v", err)
		}
	}
}

func verify(tb testing.TB, path, tenant string, k *key, trusted []byte) verifier.Report {
	tb.Helper()
	r, err := verifier.Verify(deadline(tb), path, verifier.Options{Key: k.verifier, Tenant: tenant, Trusted: trusted})
	if err != nil {
		tb.Fatalf("verify: %v", err)
	}
	return r
}

func reader(tb testing.TB, path string) (r *ledger.Reader, done func()) {
	tb.Helper()
	r, err := ledger.OpenReader(path)
	if err != nil {
		tb.Fatal(err)
	}
	return r, func() {
		if err := r.Close(); err != nil {
			tb.Error(err)
		}
	}
}

func copyFile(tb testing.TB, dir, path string) string {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	to := filepath.Join(dir, ledger.FileName)
	for _, behind := range []string{"-wal", "-shm"} {
		if err := os.RemoveAll(to + behind); err != nil {
			tb.Fatal(err)
		}
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		tb.Fatal(err)
	}
	return to
}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }
