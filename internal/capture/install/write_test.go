package install

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
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

func linked(t *testing.T, tool string, opts Options) (file, target string) {
	t.Helper()
	file, target = fileOf(t, tool, opts), filepath.Join(t.TempDir(), "dotfiles.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, file); err != nil {
		t.Fatal(err)
	}
	return file, target
}

// A dangling link is followed, and stays when its target is removed.
func TestChange_ApplyDanglingLink(t *testing.T) {
	opts := options(t)
	file, target := linked(t, "claude-code", opts)
	apply(t, "claude-code", opts)
	checkInstalled(t, "claude-code", file, read(t, target))
	opts.Uninstall = true
	apply(t, "claude-code", opts)
	if info, err := os.Lstat(file); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
	if _, err := os.Stat(target); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("our hooks are still behind the link: %v", err)
	}
}

// Uninstalling removes the folders of a project that became empty.
func TestChange_ApplyRemovesFolders(t *testing.T) {
	opts := options(t)
	mine := filepath.Join(opts.Project, ".github", "mine")
	write(t, mine, "x")
	apply(t, "copilot-cli", opts)
	opts.Uninstall = true
	apply(t, "copilot-cli", opts)
	if _, err := os.Stat(filepath.Join(opts.Project, ".github", "hooks")); !errors.Is(err, os.ErrNotExist) || read(t, mine) != "x" {
		t.Errorf("the empty folder is there: %v", err)
	}
}

func TestChange_ApplyReadOnly(t *testing.T) {
	opts := options(t)
	file := fileOf(t, "claude-code", opts)
	write(t, file, "{\"a\": 1}\n")
	if err := os.Chmod(file, 0o444); err != nil {
		t.Fatal(err)
	}
	c, err := Plan("claude-code", opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Apply(); !errors.Is(err, os.ErrPermission) || read(t, file) != "{\"a\": 1}\n" {
		t.Errorf("got %v, want %v and the file as it was", err, os.ErrPermission)
	}
}

// A hook is recognized even if the path of its program is quoted.
func TestPlan_QuotedProgram(t *testing.T) {
	for _, program := range []string{
		`'/home/o'\''brien/my "bin"/publisher'`, `"/a b/publisher"`, `/a\ b/publisher`, `'/opt/it'\''s ours'`, `C:\bin\publisher.exe`,
	} {
		opts := options(t)
		opts.Program = program
		file := fileOf(t, "claude-code", opts)
		write(t, file, "{\n  \"a\": 1\n}\n")
		apply(t, "claude-code", opts)
		opts.Flags = "--fail-closed"
		apply(t, "claude-code", opts)
		checkInstalled(t, "claude-code", file, strings.ReplaceAll(read(t, file), `it'\\''s ours'`, `publisher'`))
		if n := strings.Count(read(t, file), " hook claude-code"); n != 12 {
			t.Errorf("%s: %d hooks, want one for each of 12 events", program, n)
		}
		opts.Uninstall = true
		apply(t, "claude-code", opts)
		if got := read(t, file); got != "{\n  \"a\": 1\n}\n" {
			t.Errorf("%s: left\n%s", program, got)
		}
	}
}
