package publisher

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/hookclient/hookclienttest"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

// Load refuses a hooks file that cannot decide.
func TestHookFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hooks.yaml")
	for text, want := range map[string]string{
		hookclienttest.NoRemoval:                                           "",
		"hooks: {PreToolUse: [{type: nats}]}":                              "would ask itself",
		"hooks: {PreToolUse: [{type: nats, subject: hooktrail.decide.x}]}": "would ask itself",
		"hooks: {PreToolUse: [{type: nats, subject: others.decide}]}":      "",
		"hooks: {PreToolUse: [{type: x}]}":                                 path + `:1:29: PreToolUse[0].type: "x" does not exist`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := (&HookFile{path: path}).Load(t.Context(), slog.New(slog.DiscardHandler))
		if want == "" && (err != nil || f == nil) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, %v", text, f, err)
		}
	}
	if f, err := new(HookFile).Load(t.Context(), nil); f != nil || err != nil {
		t.Errorf("without a file: got %v, %v", f, err)
	}
}

// --nats-timeout limits the wait for a server that does not answer.
func TestImport_DeadServer(t *testing.T) {
	began := time.Now()
	cmd := Command()
	cmd.SetErr(io.Discard)
	status := cli.Execute(t.Context(), cmd, []string{"import", "--data-dir", t.TempDir(), "--nats-url", "nats://127.0.0.1:1", "--nats-timeout", "100ms", os.DevNull})
	if took := time.Since(began); status != 1 || took > 3*time.Second {
		t.Errorf("got status %d after %v", status, took)
	}
}
