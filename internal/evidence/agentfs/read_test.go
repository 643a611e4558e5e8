package agentfs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"zombiezen.com/go/sqlite"
)

func TestCopy_IsOneWholeFile(t *testing.T) {
	dir := t.TempDir()
	l := recorded(t)
	project(t, dir, l)
	path, out := filepath.Join(dir, "coder__acme.db"), filepath.Join(t.TempDir(), "copy.db")
	if err := Copy(t.Context(), path, out, l); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(dump(t, path), dump(t, out)); diff != "" {
		t.Errorf("copy (-want +got):\n%s", diff)
	}
	if err := Copy(t.Context(), path, out, l); err == nil {
		t.Error("a file that is there was written over")
	}
	if err := Copy(t.Context(), path, filepath.Join(out, "x"), l); err == nil || strings.Contains(err.Error(), "there already") {
		t.Errorf("below a file: got %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(out), ".*")); len(left) > 0 || err != nil {
		t.Errorf("got %v %v beside the copy", left, err)
	}
	for _, file := range []string{path, out, filepath.Join(dir, ".routes", "acme.db")} {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: got mode %v %v, want 0600", file, info.Mode(), err)
		}
	}
}

func TestList_OneTenantsFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{
		"coder__acme.db", "coder__acme__2.db", "coder__acme__10.db", "Explore_xu1__acme.db", "coder__other.db",
		"coder__acme.db-wal", "coder__acme__1.db", "coder__acme__x.db", "notes.txt", "acme.db", ".agentfs-1__acme.db",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, err := List(dir, "acme")
	if err != nil {
		t.Fatal(err)
	}
	want := []File{
		{Name: "Explore_xu1__acme.db", Agent: "Explore", Part: 1},
		{Name: "coder__acme.db", Agent: "coder", Part: 1},
		{Name: "coder__acme__2.db", Agent: "coder", Part: 2},
		{Name: "coder__acme__10.db", Agent: "coder", Part: 10},
	}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if files, err := List(filepath.Join(dir, "none"), "acme"); len(files) > 0 || err != nil {
		t.Errorf("a folder that is not there: got %v %v", files, err)
	}
}

func TestLook_SaysWhatIsInAFile(t *testing.T) {
	dir := t.TempDir()
	project(t, dir, recorded(t))
	path := filepath.Join(dir, "coder__acme.db")
	foreign(t, path)
	for run, has := range map[string]bool{"": false, "r1": true, "r": false, "r2": false} {
		got, err := Inspect(t.Context(), path, run)
		if diff := cmp.Diff(Contents{Calls: 10, Ours: 9, Leaf: 11, HasRun: has}, got); diff != "" || err != nil {
			t.Errorf("run %q: %v (-want +got):\n%s", run, err, diff)
		}
	}
	other := filepath.Join(dir, "own__acme.db")
	conn, err := sqlite.OpenConn(other, sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(executeAll(conn, clientSchema), conn.Close()); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(dir, "empty__acme.db")
	if err := createPrivate(empty); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{other, empty} {
		got, err := Inspect(t.Context(), path, "r1")
		if diff := cmp.Diff(Contents{Leaf: -1}, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", filepath.Base(path), err, diff)
		}
	}
}
