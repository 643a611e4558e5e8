package publisher

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hooktrail/hooktrail/internal/capture/hookclient"
	"github.com/hooktrail/hooktrail/internal/capture/hookclient/hookclienttest"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// An unreadable spool file is renamed and reported once. It does not cause a denial.
func TestHook_UnreadableSpoolFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(hookclient.SpoolDir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	torn := filepath.Join(hookclient.SpoolDir(dir), "1.jsonl")
	if err := os.WriteFile(torn, make([]byte, 100), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"claude-code", "--fail-closed", "--hooks", hookclienttest.HooksFile(t, hookclienttest.NoRemoval)}
	harmless := strings.Replace(hookclienttest.Removals[0].Payload, "rm -rf build/x", "ls", 1)
	got := execHook(t, dir, harmless, args...)
	if got.Status != 0 || got.Stdout != "" || !strings.Contains(got.Stderr, "1.jsonl") {
		t.Errorf("got %+v", got)
	}
	if got := execHook(t, dir, hookclienttest.Removals[0].Payload, args...); got.Stderr != "" || got.Stdout == "" {
		t.Errorf("second command: got %+v", got)
	}
	if left, err := os.ReadFile(torn + ".damaged"); err != nil || len(left) != 100 {
		t.Errorf("kept %d bytes, error %v", len(left), err)
	}
	if calls := hookclienttest.Calls(t, recorded(t, dir)); len(calls) != 2 {
		t.Errorf("recorded %+v, want two calls", calls)
	}
}

// An event that does not fit on a full disk is recorded as a gap.
func TestHook_FullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("hooktrail-test", dir, "tmpfs", 0, "size=2m"); err != nil {
		t.Skipf("a tiny disk cannot be mounted: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	if got := execHook(t, dir, hookclienttest.Removals[0].Payload, "claude-code"); got != (hookclienttest.Output{}) {
		t.Fatalf("got %+v", got)
	}
	filler := filepath.Join(dir, "filler")
	for size := 4 << 20; size > 0; size /= 2 {
		f, err := os.OpenFile(filler, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = f.Write(make([]byte, size)) // fill the disk
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	large := strings.Replace(hookclienttest.Removals[0].Payload, "rm -rf build/x", strings.Repeat("x", 64<<10), 1)
	if got := execHook(t, dir, large, "claude-code"); got.Status != 0 || !strings.Contains(got.Stderr, "full") {
		t.Errorf("got %+v", got)
	}
	if got := execHook(t, dir, large, "claude-code", "--fail-closed", "--hooks", hookclienttest.HooksFile(t, hookclienttest.NoRemoval)); !strings.Contains(got.Stdout, `"deny"`) {
		t.Errorf("fails open: %+v", got)
	}
	s, err := publish.Inspect(hookclient.SharedOutbox(dir))
	if err != nil {
		t.Fatal(err)
	}
	lost := uint64(0)
	for _, g := range s.Gaps {
		lost += g.Last - g.First + 1
	}
	if lost != 2 || s.Gaps[0].Reason != "shed" {
		t.Errorf("gaps %+v, want two events shed", s.Gaps)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if got := execHook(t, dir, hookclienttest.Removals[1].Payload, "codex"); got != (hookclienttest.Output{}) {
		t.Errorf("got %+v", got)
	}
	if calls := hookclienttest.Calls(t, recorded(t, dir)); len(calls) != 2 {
		t.Errorf("%d calls, want those before and behind", len(calls))
	}
}
