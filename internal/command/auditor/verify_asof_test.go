package auditor

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/hookclient"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/testkit/race"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

func verified(tb testing.TB, args ...string) (status int, r verifier.Report) {
	tb.Helper()
	status, text := command(tb, append([]string{"verify", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		tb.Fatalf("status %d: %v:\n%s", status, err, text)
	}
	if r.AsOf == nil {
		tb.Fatalf("status %d: no as_of:\n%s", status, text)
	}
	return status, r
}

func serveIn(tb testing.TB, b *broker.Broker, dir string) (stop func()) {
	tb.Helper()
	ctx, cancel := context.WithCancel(auditortest.Deadline(tb))
	ended := make(chan error, 1)
	go func() {
		ended <- auditor.Run(ctx, auditor.Options{Broker: b, DataDir: dir, KnownLedgers: os.Getenv(cli.EnvName("known-ledgers"))})
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			tb.Errorf("auditor: %v", err)
		}
	})
	tb.Cleanup(stop)
	return stop
}

// A ledger that lacks events of the stream is not complete, and the report counts them.
//
//guarantee:verify-as-of
func TestVerify_StreamHasLaterEvents(t *testing.T) {
	s := auditortest.Server(t)
	b, dir := auditortest.Connect(t, s), t.TempDir()
	p := auditortest.Outbox(t, b, "coder", "acme")
	auditortest.PublishRun(t, p, "r1", 5)
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "other", "other"), "r1", 5)
	drain(t, b, dir)
	at := []string{"--data-dir", dir, "--tenant", "acme", "--nats-url", s.URL()}
	status, r := verified(t, at...)
	if later := r.AsOf.Later; status != 0 || r.Completeness != verifier.Complete || later == nil || later.Events != 0 || later.Last != r.AsOf.Position {
		t.Fatalf("got status %d, %s, %+v", status, r.Completeness, r.AsOf)
	}
	auditortest.PublishRun(t, p, "r2", 5) // 12 events and a seal
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "third", "other"), "r3", 5)
	began := time.Now()
	status, r = verified(t, at...)
	if status != verifier.ExitIncomplete || r.Completeness != verifier.Unproven || r.AsOf.Later.Events != 13 || r.AsOf.Later.Manifests == 0 {
		t.Errorf("got status %d, %s, %+v", status, r.Completeness, r.AsOf.Later)
	}
	if took := time.Since(began); took > defaultWait {
		t.Errorf("waited %v, and no auditor writes", took)
	}
	_, text := command(t, append([]string{"verify"}, at...)...)
	for _, want := range []string{
		"UNPROVEN     not in the ledger yet: 13 later events in the stream, up to position ",
		"\nAs of:        " + r.AsOf.Time.Format(time.RFC3339) + " (", "s ago), stream position " + thousands(int64(r.AsOf.Position)) + ", 13 later events in the stream, no open run\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
	status, text = command(t, append([]string{"coverage"}, at...)...)
	if status != verifier.ExitIncomplete || !strings.Contains(text, "13 later events in the stream") {
		t.Errorf("coverage: got status %d:\n%s", status, text)
	}
	_, _, text = commandBoth(t, append([]string{"export", "--format", "jsonl"}, at...)...)
	if !strings.Contains(text, "13 later events in the stream") {
		t.Errorf("export says:\n%s", text)
	}
	if files, err := filepath.Glob(filepath.Join(auditor.LedgerDir(dir), "*==*.lock")); err != nil || len(files) > 0 {
		t.Errorf("a reader made %q, %v", files, err)
	}
	status, r = verified(t, "--data-dir", dir, "--tenant", "acme")
	if status != 0 || r.AsOf.Later != nil || r.AsOf.NotAsked == "" {
		t.Errorf("offline: got status %d, %+v", status, r.AsOf)
	}
	drain(t, b, dir)
	if status, r = verified(t, at...); status != 0 || r.Completeness != verifier.Complete {
		t.Errorf("after a drain: got status %d, %s, %+v", status, r.Completeness, r.AsOf)
	}
}

// A verification waits for a running auditor. Events that arrive meanwhile do not change its
// verdict.
func TestVerify_AuditorRuns(t *testing.T) {
	s := auditortest.Server(t)
	b, dir := auditortest.Connect(t, s), t.TempDir()
	p := auditortest.Outbox(t, b, "coder", "acme")
	auditortest.PublishRun(t, p, "r0", 1)
	serveIn(t, b, dir)
	auditortest.Until(t, "a ledger", func() bool { return leavesOf(t, dir, "acme") > 0 })
	busy, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for busy.Err() == nil {
			auditortest.AppendEvent(t, p, "busy", events.Custom, "", events.CustomData{Name: "x"})
			time.Sleep(time.Millisecond)
		}
	})
	for i := range race.Size(10, 3) {
		auditortest.PublishRun(t, p, fmt.Sprint("r", i+1), 20)
		status, r := verified(t, "--data-dir", dir, "--tenant", "acme", "--nats-url", s.URL(), "--wait", "1m")
		if status != 0 || r.AsOf.Later == nil || r.Runs.Sealed < i+2 {
			t.Errorf("%d: got status %d, %s, %d runs, %+v", i, status, r.Completeness, r.Runs.Sealed, r.AsOf)
		}
	}
	stop()
	wg.Wait()
}

// Two auditors with one consumer take messages from each other. Each reports that it lacks events.
//
//guarantee:verify-as-of
func TestVerify_TwoAuditorsWithoutStandby(t *testing.T) {
	const ownKeys = "--checkpoint-bucket=false" // the bucket has a checkpoint of only one key
	s := auditortest.Server(t)
	b, dirs := auditortest.Connect(t, s), [2]string{t.TempDir(), t.TempDir()}
	p := auditortest.Outbox(t, b, "coder", "acme")
	auditortest.PublishRun(t, p, "r1", 5)
	drain(t, b, dirs[1])
	stuck := leavesOf(t, dirs[1], "acme")
	second := start(t, "serve", "--data-dir", dirs[1], "--nats-url", s.URL())
	auditortest.Until(t, "the second auditor to serve", func() bool {
		served, err := auditor.IsServed(t.Context(), dirs[1], "acme")
		return err == nil && served
	})
	second.signal(t, syscall.SIGSTOP)
	serveIn(t, b, dirs[0])
	for i := range 5 {
		auditortest.PublishRun(t, p, fmt.Sprint("more-", i), 20)
	}
	auditortest.Until(t, "a ledger", func() bool { return leavesOf(t, dirs[0], "acme") > 0 })
	all := func() bool {
		status, r := verified(t, "--data-dir", dirs[0], "--tenant", "acme", "--nats-url", s.URL(), ownKeys)
		return status == 0 && r.Runs.Sealed == 6
	}
	auditortest.Until(t, "the first auditor to have all", all)
	if n := leavesOf(t, dirs[1], "acme"); n != stuck {
		t.Fatalf("the second auditor has %d leaves, want %d", n, stuck)
	}
	status, r := verified(t, "--data-dir", dirs[1], "--tenant", "acme", "--nats-url", s.URL(), ownKeys, "--wait", "100ms")
	if status != verifier.ExitIncomplete || r.Completeness != verifier.Unproven || r.AsOf.Later.Events != 5*43 {
		t.Errorf("got status %d, %s, %+v, want %d events", status, r.Completeness, r.AsOf.Later, 5*43)
	}
}

// Exact copies do not count as missing, although the ledger drops them.
func TestVerify_StreamHasCopies(t *testing.T) {
	s := auditortest.Server(t)
	b, dir := auditortest.Connect(t, s), t.TempDir()
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder", "acme"), "r1", 5)
	drain(t, b, dir)
	_, before := verified(t, "--data-dir", dir, "--tenant", "acme", "--nats-url", s.URL())
	stream := auditortest.EventStream(t, b)
	for seq := range before.AsOf.Position {
		msg, err := stream.GetMsg(t.Context(), seq+1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.JetStream().Publish(t.Context(), msg.Subject, msg.Data); err != nil {
			t.Fatal(err)
		}
	}
	status, r := verified(t, "--data-dir", dir, "--tenant", "acme", "--nats-url", s.URL())
	if status != 0 || r.AsOf.Later.Any() || r.AsOf.Later.Last == r.AsOf.Position {
		t.Errorf("got status %d, %+v at %d", status, r.AsOf.Later, r.AsOf.Position)
	}
}

func TestVerify_OtherStream(t *testing.T) {
	s := auditortest.Server(t)
	b, dir := auditortest.Connect(t, s), t.TempDir()
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder", "acme"), "r1", 20)
	drain(t, b, dir)
	if err := b.JetStream().DeleteStream(t.Context(), b.Space().EventStream()); err != nil {
		t.Fatal(err)
	}
	s.EnsureStreams(t)
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "again", "acme"), "r2", 1)
	status, r := verified(t, "--data-dir", dir, "--tenant", "acme", "--nats-url", s.URL())
	if status != verifier.ExitIncomplete || r.AsOf.Later.Events != 5 {
		t.Errorf("got status %d, %+v", status, r.AsOf.Later)
	}
}

// The data directory belongs to a NATS server that the command line does not name.
func TestVerify_UnnamedServer(t *testing.T) {
	s := auditortest.Server(t)
	b, dir := auditortest.Connect(t, s), t.TempDir()
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder", "acme"), "r1", 1)
	order(t, 0, nil, "serve", "--drain", "--data-dir", dir, "--nats-url", s.URL())
	for _, name := range []string{"verify", "report"} {
		_, text := both(t, name, "--data-dir", dir, "--tenant", "acme")
		if !strings.Contains(text, "belongs to the NATS server "+s.URL()) || !strings.Contains(text, "--nats-url") {
			t.Errorf("%s does not say which server to name:\n%s", name, text)
		}
	}
}

// Events in an outbox of the data directory are not in the ledger. Records of use are listed
// separately.
//
//guarantee:verify-as-of
func TestVerify_EventsInAnOutbox(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	for _, tenant := range []string{"acme", "other"} {
		auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder", tenant), "r1", 5)
	}
	drain(t, b, dir)
	if status, text := command(t, "export", "--format", "jsonl", "--data-dir", dir, "--tenant", "acme"); status != 0 {
		t.Fatalf("export: got status %d:\n%s", status, text)
	}
	status, text := command(t, "verify", "--data-dir", dir, "--tenant", "acme")
	if status != 0 || !strings.Contains(text, "stream not asked (no broker runs in the data directory), 1 record of use waits in outbox auditor,") {
		t.Errorf("after an export: got status %d:\n%s", status, text)
	}
	for range 3 {
		e, err := events.New(events.Custom, "/test", events.CustomData{Name: "x"})
		if err != nil {
			t.Fatal(err)
		}
		e.Tenant = "acme"
		if _, err := publish.AppendShared(t.Context(), filepath.Join(dir, "outbox", "shared"), publish.SharedOptions{Redactor: publish.NoRedaction}, e); err != nil {
			t.Fatal(err)
		}
	}
	status, text = command(t, "verify", "--data-dir", dir, "--tenant", "acme")
	if status != verifier.ExitIncomplete || !strings.Contains(text, "UNPROVEN     not in the ledger yet: 3 events wait in outbox shared\n") {
		t.Errorf("got status %d:\n%s", status, text)
	}
	if status, text := command(t, "verify", "--data-dir", dir, "--tenant", "other"); status != 0 || strings.Contains(text, "shared") {
		t.Errorf("another tenant: got status %d:\n%s", status, text)
	}
	bundle := filepath.Join(t.TempDir(), "all.zip")
	_, _, errs := commandBoth(t, "export", "--data-dir", dir, "--tenant", "acme", "--out", bundle)
	if !strings.Contains(errs, "3 events wait in outbox shared") {
		t.Errorf("export says:\n%s", errs)
	}
	if status, text := command(t, "verify", bundle, "--data-dir", dir); status != 0 || !strings.Contains(text, ", stream not asked, no open run\n") {
		t.Errorf("bundle: got status %d:\n%s", status, text)
	}
}

func TestVerify_StreamCannotBeAsked(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder", "acme"), "r1", 5)
	drain(t, b, dir)
	status, r := verified(t, "--data-dir", dir, "--tenant", "acme", "--nats-url", "nats://127.0.0.1:1", "--checkpoint-bucket=false")
	if status != 0 || !strings.Contains(r.AsOf.NotAsked, "127.0.0.1:1") {
		t.Errorf("got status %d, %+v", status, r.AsOf)
	}
	if err := b.JetStream().DeleteStream(t.Context(), b.Space().EventStream()); err != nil {
		t.Fatal(err)
	}
	if status, r = verified(t, "--data-dir", dir, "--tenant", "acme", "--nats-url", b.URL()); status != 0 || !strings.Contains(r.AsOf.NotAsked, "stream") {
		t.Errorf("without a stream: got status %d, %+v", status, r.AsOf)
	}
}

func TestVerify_EventsInTheSpool(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder", "acme"), "r1", 5)
	drain(t, b, dir)
	e, err := events.New(events.Custom, "/test", events.CustomData{Name: "x"})
	if err != nil {
		t.Fatal(err)
	}
	e.Tenant = "acme"
	if err := os.MkdirAll(hookclient.SpoolDir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	auditortest.Put(t, filepath.Join(hookclient.SpoolDir(dir), "one.jsonl"), string(e.Encode())+"\n")
	status, r := verified(t, "--data-dir", dir, "--tenant", "acme")
	if status != verifier.ExitIncomplete || len(r.AsOf.Outboxes) != 1 || r.AsOf.Outboxes[0].Events != 1 {
		t.Errorf("got status %d, %+v", status, r.AsOf)
	}
}
