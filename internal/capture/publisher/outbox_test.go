package publisher

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/hookclient"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// share appends events to the shared outbox, as hooks without a publisher do.
func share(t *testing.T, dataDir string, from, to int) {
	t.Helper()
	for n := from; n < to; n++ {
		e, err := events.New(events.PromptSubmit, "/test", events.PromptSubmitData{Prompt: "hello"})
		if err != nil {
			t.Fatal(err)
		}
		e.ID, e.Run = fmt.Sprintf("shared-%d", n), "run"
		opts := publish.SharedOptions{Tenant: "acme", Redactor: publish.NoRedaction}
		if _, err := publish.AppendShared(t.Context(), hookclient.SharedOutbox(dataDir), opts, e); err != nil {
			t.Fatal(err)
		}
	}
}

func wantShared(t *testing.T, srv *natstest.Server, count int) {
	t.Helper()
	seen := 0
	for _, e := range srv.Events(t) {
		if want := fmt.Sprintf("shared-%d", seen); e.ID != want {
			t.Fatalf("event %d is %s, want %s", seen, e.ID, want)
		}
		seen++
	}
	if seen != count {
		t.Errorf("%d events in the stream, want %d", seen, count)
	}
}

// A publisher forwards the events of the shared outbox. When it ends, a second
// publisher continues.
func TestRun_ForwardsTheSharedOutbox(t *testing.T) {
	srv, b := open(t)
	dir := t.TempDir()
	share(t, dir, 0, 3)
	r := runServer(t, Options{Broker: b, DataDir: dir})
	waitEmpty(t, dir)
	share(t, dir, 3, 6)
	waitEmpty(t, dir)
	list, err := Outboxes(dir, "shared")
	if err != nil || !list[0].Open || list[0].Process != os.Getpid() {
		t.Errorf("outbox %+v, error %v; want it open in this process", list, err)
	}
	r.end(t)
	share(t, dir, 6, 8)
	r = runServer(t, Options{Broker: b, DataDir: dir})
	waitEmpty(t, dir)
	r.end(t)
	wantShared(t, srv, 8)
}

func waitEmpty(t *testing.T, dataDir string) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.After(30 * time.Second)
	for {
		list, err := Outboxes(dataDir, "shared")
		if err != nil {
			t.Fatal(err)
		}
		if list[0].Waiting == 0 && list[0].Open {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("it still waits: %+v", list)
		}
	}
}

// FlushOutboxes reports progress, and the number of remaining events if it stops early.
func TestFlushOutboxes(t *testing.T) {
	srv := natstest.Listen(t, t.TempDir())
	dir := t.TempDir()
	share(t, dir, 0, 40)
	srv.Stop()
	b, err := broker.Open(t.Context(), broker.Options{URL: srv.URL(), Later: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close(context.Background()) }) // the server may be gone
	short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	sent, err := FlushOutboxes(short, FlushOptions{Broker: b, DataDir: dir})
	if sent != 0 || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("without a server: sent %d, error %v; want %v", sent, err, context.DeadlineExceeded)
	}
	srv.Restart(t)
	var last, all uint64
	sent, err = FlushOutboxes(t.Context(), FlushOptions{Broker: b, DataDir: dir, Progress: func(done, total uint64) { last, all = done, total }})
	if err != nil || sent != 40 || last != 40 || all != 40 {
		t.Errorf("sent %d, progress %d of %d, error %v; want 40", sent, last, all, err)
	}
	wantShared(t, srv, 40)
}

func TestOutboxes(t *testing.T) {
	dir := t.TempDir()
	share(t, dir, 0, 5)
	segments, err := filepath.Glob(filepath.Join(hookclient.SharedOutbox(dir), "*", "*.seg"))
	if err != nil || len(segments) != 1 {
		t.Fatal(segments, err)
	}
	data, err := os.ReadFile(segments[0])
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	writeText(t, segments[0], string(data))
	list, err := Outboxes(dir)
	if err != nil || len(list) != 1 || list[0].Waiting != 4 || list[0].Damaged != 1 || list[0].Tenants["acme"] != 4 || len(list[0].Kept) != 0 {
		t.Fatalf("outboxes %+v, error %v; want four events and one damaged record", list, err)
	}
	srv, b := open(t)
	if _, err := FlushOutboxes(t.Context(), FlushOptions{Broker: b, DataDir: dir}); err != nil {
		t.Fatal(err)
	}
	list, err = Outboxes(dir)
	if err != nil || list[0].Waiting != 0 || list[0].Damaged != 0 || len(list[0].Kept) != 1 {
		t.Errorf("outboxes %+v, error %v; want one segment in quarantine", list, err)
	}
	kept, err := os.ReadFile(list[0].Kept[0])
	if err != nil || string(kept) != string(data) {
		t.Errorf("what was kept is not the segment: %v", err)
	}
	gaps := 0
	for _, e := range srv.Events(t) {
		if e.Kind() == events.GapRecorded {
			gaps++
		}
	}
	if gaps != 1 {
		t.Errorf("%d gaps were recorded, want 1", gaps)
	}
	if _, err := Outboxes(dir, "other"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an outbox that is not there: got %v, want %v", err, os.ErrNotExist)
	}
}

func TestOutboxes_OneCannotBeRead(t *testing.T) {
	srv, b := open(t)
	dir := t.TempDir()
	share(t, dir, 0, 3)
	if err := os.MkdirAll(outboxDir(dir, "broken"), 0o700); err != nil {
		t.Fatal(err)
	}
	identity := filepath.Join(outboxDir(dir, "broken"), "outbox.json")
	writeText(t, identity, "{")
	list, err := Outboxes(dir)
	if err == nil || !strings.Contains(err.Error(), identity) || len(list) != 1 || list[0].Waiting != 3 {
		t.Errorf("outboxes %+v, error %v", list, err)
	}
	sent, err := FlushOutboxes(t.Context(), FlushOptions{Broker: b, DataDir: dir})
	if err == nil || !strings.Contains(err.Error(), identity) || sent != 3 {
		t.Errorf("sent %d, error %v", sent, err)
	}
	wantShared(t, srv, 3)
}

// The events of an outbox without outbox.json are not lost.
func TestOutboxes_WithoutIdentity(t *testing.T) {
	srv, b := open(t)
	dir := t.TempDir()
	share(t, dir, 0, 3)
	if err := os.Remove(filepath.Join(hookclient.SharedOutbox(dir), "outbox.json")); err != nil {
		t.Fatal(err)
	}
	list, err := Outboxes(dir)
	if err != nil || len(list) != 1 || list[0].Waiting != 3 {
		t.Errorf("outboxes %+v, error %v", list, err)
	}
	if sent, err := FlushOutboxes(t.Context(), FlushOptions{Broker: b, DataDir: dir}); err != nil || sent != 3 {
		t.Errorf("sent %d, error %v", sent, err)
	}
	wantShared(t, srv, 3)
}
