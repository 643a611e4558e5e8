package tracker

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/rulestest"
	"github.com/hooktrail/hooktrail/internal/tracking/tracker"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// A tracker's rights suffice for all its commands with a server in another process.
func TestCommand_WithATrackersRights(t *testing.T) {
	dir := t.TempDir()
	b, err := broker.Open(t.Context(), broker.Options{DataDir: dir, Name: "owner"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	pub, err := publish.Open(t.Context(), b.Conn(), publish.Options{
		Dir: filepath.Join(t.TempDir(), "engine"), Name: "engine", Redactor: publish.NoRedaction,
		SubjectPrefix: b.Space().Prefix, StreamPrefix: b.Space().StreamPrefix,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range rulestest.Story(t) {
		if _, err := pub.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if err := pub.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	config := rulestest.WriteFile(t, "new.yaml", "hold: 10s\n")
	for _, args := range [][]string{
		{"serve", "--drain"},
		{"whatif", "--config", config},
		{"whatif", "--config", config, "--tenant", "acme"},
		{"close", "", "--reason", "x", "--tenant", "acme"},
		{"serve", "--drain"},
		{"whatif", "--config", config},
		{"rebuild"},
	} {
		if args[0] == "close" {
			args[1] = callJSON[[]tracker.Issue](t, dir, "list", "--tenant", "acme", "--status", "open")[0].ID
		}
		status, stdout, stderr := call(t, dir, args...)
		if status != cli.ExitOK {
			t.Errorf("tracker %v: exit status %d, %q, %s", args, status, stdout, stderr)
		}
		if args[0] == "whatif" && !strings.Contains(stdout, "exactly") {
			t.Errorf("tracker %v prints %q", args, stdout)
		}
	}
}
