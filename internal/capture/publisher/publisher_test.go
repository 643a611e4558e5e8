package publisher

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/internal/testkit/realdata"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func open(tb testing.TB) (*natstest.Server, *broker.Broker) {
	tb.Helper()
	srv := natstest.Listen(tb, tb.TempDir())
	b, err := broker.Open(tb.Context(), broker.Options{URL: srv.URL()})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = b.Close(ctx) // the server may be gone
	})
	return srv, b
}

// without returns the ids of list without the seals.
func without(list []events.Event) (ids []string) {
	for _, e := range list {
		if e.Kind() != events.RunSealed {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

func TestImport_Folder(t *testing.T) {
	srv, b := open(t)
	folder := realdata.Path(t, "claude-code", "marot-spotter")
	dir := t.TempDir()
	var done, total uint64
	opts := ImportOptions{
		Broker: b, DataDir: dir, Format: "claude-code", Paths: []string{folder, filepath.Join(folder, "short.jsonl")},
		Progress: func(d, n uint64) { done, total = d, n },
	}
	began := time.Now()
	sum, err := Import(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("imported %d events in %v", sum.New, time.Since(began))
	if len(sum.Files) != 12 || len(sum.Runs) != 12 || sum.New != sum.Events || sum.Known != 0 || sum.Malformed != 0 {
		t.Errorf("got %d files, %d runs, %+v, %d malformed", len(sum.Files), len(sum.Runs), sum.Counts, sum.Malformed)
	}
	if done == 0 || done != total {
		t.Errorf("got progress %d of %d", done, total)
	}
	list := srv.Events(t)
	ids := without(list)
	if len(ids) != sum.New {
		t.Errorf("got %d events in the stream, want %d", len(ids), sum.New)
	}
	sealed := map[string]bool{}
	for _, e := range list {
		if e.Tenant != "default" {
			t.Fatalf("event %s: got tenant %q", e.ID, e.Tenant)
		}
		if e.Kind() == events.RunSealed {
			sealed[e.Run] = true
		}
	}
	if len(sealed) != len(sum.Runs) {
		t.Errorf("got %d sealed runs, want %d", len(sealed), len(sum.Runs))
	}

	again, err := Import(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	if again.New != 0 || again.Known != sum.Events {
		t.Errorf("again: got %+v, want nothing new", again.Counts)
	}
	if diff := cmp.Diff(ids, without(srv.Events(t))); diff != "" {
		t.Errorf("the stream changed (-before +after):\n%s", diff)
	}
}

// TestImport_Growing imports the snapshots of a growing session, and the last snapshot
// for another tenant. Both runs are equal, except for superseded aggregates.
func TestImport_Growing(t *testing.T) {
	srv, b := open(t)
	names, err := filepath.Glob(filepath.Join(realdata.Path(t), "claude-code", "entireio-cli-growing", "*", "*", "full.jsonl"))
	if err != nil || len(names) != 5 {
		t.Fatalf("snapshots: %v, %v", names, err)
	}
	dir := t.TempDir()
	for _, name := range names {
		importOne(t, b, dir, "grown", name)
	}
	importOne(t, b, dir, "alone", names[4])
	got := map[string][]string{}
	for _, e := range srv.Events(t) {
		switch e.Kind() {
		case events.RunSealed, events.ResponseCompleted, events.StepFinished, events.RunFinished:
		default:
			got[e.Tenant] = append(got[e.Tenant], string(e.Kind())+" "+e.Step+" "+e.ToolCall+" "+string(e.Data))
		}
	}
	if diff := cmp.Diff(got["alone"], got["grown"]); diff != "" {
		t.Errorf("(-alone +grown):\n%s", diff)
	}
	if len(got["alone"]) == 0 {
		t.Error("nothing was imported")
	}
}

func importOne(t *testing.T, b *broker.Broker, dir, tenant, name string) {
	t.Helper()
	if _, err := Import(t.Context(), ImportOptions{
		Broker: b, DataDir: dir, Tenant: tenant, Format: "claude-code", Paths: []string{name},
	}); err != nil {
		t.Fatal(err)
	}
}

// TestImport_Interrupted imports without a broker. The error contains the number of
// waiting events, and the next import sends them.
func TestImport_Interrupted(t *testing.T) {
	srv, b := open(t)
	dir, name := t.TempDir(), filepath.Join(t.TempDir(), "s.jsonl")
	writeText(t, name, `{"type":"user","sessionId":"s","uuid":"p","timestamp":"2026-01-01T00:00:00Z","message":{"content":"go"}}`)
	opts := ImportOptions{Broker: b, DataDir: dir, Format: "claude-code", Paths: []string{name}}
	srv.Stop()
	ctx, cancel := context.WithCancel(t.Context())
	opts.Progress = func(done, total uint64) {
		if done == total {
			cancel()
		}
	}
	sum, err := Import(ctx, opts)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "stay in the outbox "+filepath.Join(dir, "outbox", "import")) {
		t.Errorf("got %v, want to be told where the events are", err)
	}
	srv.Restart(t)
	opts.Progress = nil
	again, err := Import(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	if again.Events != 5 || sum.New+again.New != 5 {
		t.Errorf("got %+v, then %+v; want 5 events in all", sum.Counts, again.Counts)
	}
	if got := len(without(srv.Events(t))); got != 5 {
		t.Errorf("got %d events in the stream, want 5", got)
	}
}

func TestPipe_Replays(t *testing.T) {
	srv, b := open(t)
	importOne(t, b, t.TempDir(), "a", realdata.Path(t, "claude-code", "marot-spotter", "tool_heavy.jsonl"))
	first := srv.Events(t)
	var lines bytes.Buffer
	for _, e := range first {
		lines.Write(append(e.Encode(), '\n'))
	}

	second, to := open(t)
	sum, err := Pipe(t.Context(), &lines, PipeOptions{Broker: to, DataDir: t.TempDir(), Name: "stdin"})
	if err != nil || sum.Malformed != 0 || sum.Records != 1 {
		t.Fatalf("got %+v and %v", sum, err)
	}
	plain := func(list []events.Event) (all []string) {
		for _, e := range list {
			if e.Kind() != events.RunSealed {
				e.Producer, e.Sequence, e.Salt = "", 0, ""
				all = append(all, string(e.Encode()))
			}
		}
		return all
	}
	if diff := cmp.Diff(plain(first), plain(second.Events(t))); diff != "" {
		t.Errorf("(-first +second):\n%s", diff)
	}
}

func TestPipe_Interrupted(t *testing.T) {
	_, b := open(t)
	in, out := io.Pipe()
	defer out.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, _ = io.WriteString(out, one("1")+"\n")
		cancel()
	}()
	sum, err := Pipe(ctx, in, PipeOptions{Broker: b, DataDir: t.TempDir(), Name: "stdin"})
	if !errors.Is(err, context.Canceled) || sum.Events > 1 {
		t.Errorf("got %+v and %v, want to be interrupted", sum, err)
	}
}
