package atomicfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hooktrail/hooktrail/internal/platform/atomicfile"
)

func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "name")
	for _, want := range []string{"first, and longer", "second"} {
		if err := atomicfile.Write(path, []byte(want)); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got mode %v, %v, want 0600", info.Mode(), err)
	}
	alone(t, filepath.Dir(path))
}

// A failed write changes nothing and leaves no temporary file.
func TestWrite_Fails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "folder")
	if err := os.MkdirAll(filepath.Join(path, "inside"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(path, []byte("x")); err == nil {
		t.Error("a folder was replaced by a file")
	}
	alone(t, dir)
	if err := atomicfile.Write(filepath.Join(dir, "none", "name"), nil); err == nil {
		t.Error("a file was written into a folder that is not there")
	}
}

func TestWrite_HereAndNow(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := atomicfile.Write("name", nil); err != nil {
		t.Fatal(err)
	}
	alone(t, ".")
}

func alone(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("got %v, %v, want one file", entries, err)
	}
}
