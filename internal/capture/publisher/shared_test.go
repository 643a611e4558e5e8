package publisher

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/capture/hookclient"
)

type failures chan string

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
	writeText(t, identity, "{")
	lines := make(failures, 100)
	logger := slog.New(slog.NewTextHandler(lines, &slog.HandlerOptions{Level: slog.LevelError}))
	runServer(t, Options{Broker: b, DataDir: dir, Tenant: "acme", Logger: logger})
	if line := <-lines; !strings.Contains(line, "not forwarded") || !strings.Contains(line, "damaged") {
		t.Errorf("logged %s", line)
	}
	writeText(t, identity, string(whole))
	waitEmpty(t, dir)
	wantShared(t, srv, 3)
}
