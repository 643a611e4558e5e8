package publisher

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/hookclient"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// failures receives the log lines of errors.
type failures chan string

// Write drops lines if the channel is full.
func (f failures) Write(line []byte) (int, error) {
	select {
	case f <- string(line):
	default:
	}
	return len(line), nil
}

// A running publisher retries a broken shared outbox, and forwards it after the repair.
func TestRun_SharedOutboxIsMended(t *testing.T) {
	srv, b := open(t)
	dir := t.TempDir()
	share(t, dir, 0, 3)
	identity := filepath.Join(hookclient.SharedOutbox(dir), "outbox.json")
	whole, err := os.ReadFile(identity)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(identity, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	lines := make(failures, 100)
	logger := slog.New(slog.NewTextHandler(lines, &slog.HandlerOptions{Level: slog.LevelError}))
	runServer(t, Options{Broker: b, DataDir: dir, Tenant: "acme", Logger: logger})
	if line := <-lines; !strings.Contains(line, "not forwarded") || !strings.Contains(line, "damaged") {
		t.Errorf("logged %s", line)
	}
	if err := os.WriteFile(identity, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	tick, deadline := time.NewTicker(20*time.Millisecond), time.After(30*time.Second)
	defer tick.Stop()
	for {
		s, err := publish.Inspect(hookclient.SharedOutbox(dir))
		if err != nil {
			t.Fatal(err)
		}
		if s.Waiting == 0 {
			break
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("what the outbox has is not forwarded")
		}
	}
	wantShared(t, srv, 3)
}
