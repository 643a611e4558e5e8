package publisher

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/hookclient"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

func appendShared(t *testing.T, dataDir string) {
	t.Helper()
	e, err := events.New(events.PromptSubmit, "/test", events.PromptSubmitData{Prompt: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	e.Run = "run"
	opts := publish.SharedOptions{Tenant: "acme", Redactor: publish.NoRedaction}
	if _, err := publish.AppendShared(t.Context(), hookclient.SharedOutbox(dataDir), opts, e); err != nil {
		t.Fatal(err)
	}
}

// status shows the readable outboxes and fails because of the others.
func TestOutboxStatus_OneCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	appendShared(t, dir)
	broken := filepath.Join(dir, "outbox", "broken")
	identity := filepath.Join(broken, "outbox.json")
	if err := os.MkdirAll(broken, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(identity, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	cmd := Command()
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	status := cli.Execute(t.Context(), cmd, []string{"outbox", "status", "--data-dir", dir})
	if status != 1 || !strings.HasPrefix(out.String(), "shared: 1 event waits") || !strings.Contains(errs.String(), identity) {
		t.Errorf("status %d, stdout %s, stderr %s", status, &out, &errs)
	}
}

// status fails because of an outbox that is gone, until its loss is on record.
func TestOutboxStatus_Missing(t *testing.T) {
	dir := t.TempDir()
	srv := natstest.Start(t)
	p, err := publish.Open(t.Context(), srv.Connect(t), publish.Options{
		Dir: filepath.Join(dir, "outbox", "serve"), Journal: publish.JournalDir(dir), Name: "serve", Redactor: publish.NoRedaction,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close(t.Context()) })
	if err := os.RemoveAll(filepath.Join(dir, "outbox", "serve")); err != nil {
		t.Fatal(err)
	}
	check := func(want int, text string, names ...string) {
		t.Helper()
		var out, errs bytes.Buffer
		cmd := Command()
		cmd.SetOut(&out)
		cmd.SetErr(&errs)
		status := cli.Execute(t.Context(), cmd, append([]string{"outbox", "status", "--data-dir", dir}, names...))
		if status != want || !strings.Contains(errs.String(), text) {
			t.Errorf("status %d, want %d, stderr %s", status, want, &errs)
		}
	}
	check(1, "outbox serve is missing")
	check(1, "outbox serve is missing", "serve")
	lost, err := publish.RecordLost(t.Context(), dir, hookclient.SharedOutbox(dir), publish.SharedOptions{Redactor: publish.NoRedaction, Journal: publish.JournalDir(dir)})
	if err != nil || len(lost) != 1 {
		t.Fatalf("got %v, %v", lost, err)
	}
	check(0, "")
}

// The timeout of flush includes the time to connect.
func TestOutboxFlush_Timeout(t *testing.T) {
	dir := t.TempDir()
	appendShared(t, dir)
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections and sends nothing
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	began := time.Now()
	var errs bytes.Buffer
	cmd := Command()
	cmd.SetErr(&errs)
	status := cli.Execute(t.Context(), cmd, []string{"outbox", "flush", "--timeout", "200ms", "--data-dir", dir, "--nats-url", "nats://" + l.Addr().String()})
	if took := time.Since(began); status != 1 || took > 5*time.Second {
		t.Errorf("status %d after %v: %s", status, took, &errs)
	}
}

// The next process uses the key that rekey wrote.
//
//guarantee:producer-key
func TestOutboxRekey(t *testing.T) {
	dir := t.TempDir()
	appendShared(t, dir)
	key := filepath.Join(dir, "outbox", "shared", "producer.nk")
	before, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"outbox", "flush"}, {"outbox", "rekey", "shared"}, {"outbox", "flush"}} {
		var out, errs bytes.Buffer
		cmd := Command()
		cmd.SetOut(&out)
		cmd.SetErr(&errs)
		if status := cli.Execute(t.Context(), cmd, append(args, "--data-dir", dir)); status != 0 {
			t.Fatalf("%v: status %d, %s", args, status, &errs)
		}
		if args[1] == "rekey" && out.String() != "shared: has a new key\n" {
			t.Errorf("stdout %s", &out)
		}
	}
	if after, err := os.ReadFile(key); err != nil || bytes.Equal(before, after) {
		t.Errorf("the key is the old one, %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "outbox", "shared", "producer.next.nk")); err == nil {
		t.Error("the next key is still there")
	}
}
