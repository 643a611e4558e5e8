package auditor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
)

// A killed export leaves a file with payloads that only its owner can read. The next export into the
// folder removes it, but not the files of a running export.
func TestExport_Killed(t *testing.T) {
	s := auditortest.Server(t)
	b, dir := auditortest.Connect(t, s), t.TempDir()
	p := auditortest.Outbox(t, b, "coder", "acme")
	for range 20 {
		publishText(t, p, "r1", "jane", strings.Repeat("a plain payload ", 4000))
	}
	drain(t, b, dir)
	away := t.TempDir()
	left := func() (files []string) {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(away, unfinished+"*"))
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	at := []string{"export", "--data-dir", dir, "--tenant", "acme", "--out"}
	for n := 0; len(left()) == 0; n++ { // the kill can come too late
		if n == 20 {
			t.Fatal("each export ended before it was killed")
		}
		victim := start(t, append(at, filepath.Join(away, fmt.Sprint(n, ".zip")))...)
		for running := true; running && len(left()) == 0; {
			select {
			case <-victim.done:
				running = false
			default:
			}
		}
		victim.kill()
	}
	for _, file := range left() {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v, want mode 0600", file, info.Mode(), err)
		}
	}
	running, lock, err := createLocked(away)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(running.Close(), lock.Unlock()); err != nil {
			t.Error(err)
		}
	}()
	foreign := filepath.Join(away, unfinished+"notes")
	if err := os.WriteFile(foreign, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if status, text := command(t, append(at, filepath.Join(away, "whole.zip"))...); status != 0 {
		t.Fatalf("status %d, %s", status, text)
	}
	if got := left(); len(got) != 2 || !isAt(running, running.Name()) || !strings.Contains(strings.Join(got, " "), foreign) {
		t.Errorf("left are %q, want the file of the running export and %s", got, foreign)
	}
}
