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
