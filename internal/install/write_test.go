package install

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestChange_Apply(t *testing.T) {
	opts := options(t)
	file := fileOf(t, "gemini-cli", opts)
	target := filepath.Join(t.TempDir(), "dotfiles.json")
	write(t, target, "{}\n")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, file); err != nil {
		t.Fatal(err)
	}
	apply(t, "gemini-cli", opts)
	if info, err := os.Lstat(file); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
	if info, err := os.Stat(target); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("permissions: %v, %v", info, err)
	}
	checkInstalled(t, "gemini-cli", file, read(t, target))
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(target), ".*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestChange_ApplyChangedMeanwhile(t *testing.T) {
	opts := options(t)
	file := fileOf(t, "codex", opts)
	c, err := Plan("codex", opts)
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, `{"hooks":{}}`)
	if err := c.Apply(); !errors.Is(err, ErrChanged) {
		t.Errorf("got %v, want %v", err, ErrChanged)
	}
	if got := read(t, file); got != `{"hooks":{}}` {
		t.Errorf("got %s", got)
	}
}
