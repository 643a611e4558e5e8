package auditor

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
)

// Each short id in a list names its run, or an older run of which the list does not know.
func TestStartsRun(t *testing.T) {
	runs := []string{"session-1", "session-1/a", "session-1/ab", "session-2", "other/x/y"}
	for name, want := range map[string][]string{
		"":            nil,
		"session":     {"session-1", "session-2"},
		"session-2":   {"session-2"},
		"session-1/a": {"session-1/a", "session-1/ab"},
		"s/ab":        {"session-1/ab"},
		"o/x":         {"other/x/y"},
		"session-1/":  {"session-1/a", "session-1/ab"},
	} {
		got := slices.DeleteFunc(slices.Clone(runs), func(run string) bool { return !startsRun(run, name) })
		if !slices.Equal(got, want) && len(got)+len(want) > 0 {
			t.Errorf("%q: got %v, want %v", name, got, want)
		}
	}
}

// A run has the first characters of the id of another run as its id. They name neither run.
func TestRunFlag_Decoy(t *testing.T) {
	const genuine, decoy = "0197c2d4-7f00-7000-8000-000000000001", "0197c2d4"
	s := auditortest.Server(t)
	b, dir := auditortest.Connect(t, s), t.TempDir()
	p := auditortest.Outbox(t, b, "engine", "acme")
	publishText(t, p, decoy, "jane", "nothing")
	publishText(t, p, genuine, "jane", "something")
	drain(t, b, dir)
	at := []string{"--data-dir", dir, "--tenant", "acme", "--nats-url", s.URL()}
	for _, args := range [][]string{
		{"verify", "--key", publicKey(t, dir)},
		{"export", "--out", filepath.Join(t.TempDir(), "b.zip")},
		{"replay"},
		{"erase", "--reason", "subject request", "--dry-run"},
	} {
		status, _, stderr := commandBoth(t, append(append(args, "--run", decoy), at...)...)
		if status != 1 || !strings.Contains(stderr, genuine) || !strings.Contains(stderr, "write id:"+decoy) {
			t.Errorf("%s of the short id: status %d, %q, want an error that names both runs", args[0], status, stderr)
		}
	}
	var planned Change
	order(t, 0, &planned, append([]string{"erase", "--reason", "subject request", "--dry-run", "--run", "id:" + decoy}, at...)...)
	if planned.Records != 1 || planned.What.Run != decoy {
		t.Errorf("erase of the whole id: %+v", planned)
	}
}
