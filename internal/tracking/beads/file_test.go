package beads_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/tracking/beads"
)

func spoil(t *testing.T, r testStore, content []byte) string {
	t.Helper()
	path, err := beads.File(r.dir, "acme")
	if err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Minute)
	if err := errors.Join(os.WriteFile(path, content, 0o600), os.Chtimes(path, old, old)); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestStore_UnreadableFilesArePutAside(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func([]byte) []byte
		at    string // line:column: problem
	}{
		"Conflict": {func(b []byte) []byte { return append([]byte("<<<<<<< ours\n"), b...) }, ":1:1: not JSON"},
		"CutOff":   {func(b []byte) []byte { return b[:len(b)-20] }, ": line ends too early"},
		"Kind": {
			func(b []byte) []byte { return bytes.Replace(b, []byte(`"status":"open"`), []byte(`"status":17`), 1) },
			": field status is of another type",
		},
		"Braces": {func(b []byte) []byte { return append(b, `{"id":"ht-9",,"hunter2"}`...) }, ":4:14: not JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t, t.TempDir())
			var log bytes.Buffer
			r.LogTo(slog.New(slog.NewTextHandler(&log, nil)))
			w := r.Workspace("acme")
			if err := errors.Join(story(t.Context(), w)...); err != nil {
				t.Fatal(err)
			}
			r.write(t)
			whole := r.file(t, "acme")
			content := test.spoil(bytes.Replace(bytes.Clone(whole), []byte("GWI: RESOLVE run ht-1"), []byte("a person's title"), 1))
			path := spoil(t, r, content)
			edits, err := w.Edits(t.Context())
			var place *beads.FileError
			if !errors.As(err, &place) || !errors.Is(err, beads.ErrInvalid) || !strings.HasPrefix(err.Error(), path+":") || !strings.Contains(err.Error(), test.at) {
				t.Errorf("got %v, want %s", err, test.at)
			}
			if strings.Contains(err.Error()+log.String(), "hunter2") {
				t.Error("text of the file is told")
			}
			if len(edits) != 1 || edits[0].Value != "a person's title" {
				t.Errorf("the edit beside it: %+v", edits)
			}
			if !bytes.Equal(r.file(t, "acme"), content) {
				t.Error("the file was touched before an export")
			}
			r.write(t)
			asides, err := filepath.Glob(path + ".rejected-*")
			if err != nil || len(asides) != 1 {
				t.Fatalf("put aside: %q, error %v", asides, err)
			}
			if kept, err := os.ReadFile(asides[0]); err != nil || !bytes.Equal(kept, content) {
				t.Errorf("put aside was another content, error %v", err)
			}
			if !strings.Contains(log.String(), test.at) || !strings.Contains(log.String(), asides[0]) {
				t.Errorf("log:\n%s", &log)
			}
			if seen := parseAll(t, r.file(t, "acme")); len(seen) != 3 || seen["ht-1"].Title != "a person's title" {
				t.Errorf("afterwards the file has %d issues, ht-1 is %q", len(seen), seen["ht-1"].Title)
			}
			if _, err := w.Edits(t.Context()); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

// A file is not replaced while another program may be writing it.
func TestStore_RestlessFilesAreLeftAlone(t *testing.T) {
	r := open(t, t.TempDir())
	w := r.Workspace("acme")
	if err := errors.Join(story(t.Context(), w)...); err != nil {
		t.Fatal(err)
	}
	r.write(t)
	content := r.file(t, "acme")[:100]
	path := spoil(t, r, content)
	soon := time.Now().Add(time.Hour) // later than the end of this test
	if err := os.Chtimes(path, soon, soon); err != nil {
		t.Fatal(err)
	}
	if err := w.Transition(t.Context(), beads.Transition{Issue: "ht-0", To: beads.Blocked, At: at(9)}); err != nil {
		t.Fatal(err)
	}
	r.write(t)
	if !bytes.Equal(r.file(t, "acme"), content) {
		t.Error("the file was replaced")
	}
	old := time.Now().Add(-time.Minute)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	r.write(t)
	if len(parseAll(t, r.file(t, "acme"))) != 3 {
		t.Error("the file was never replaced")
	}
}

func TestStore_ForeignLinesStayToTheByte(t *testing.T) {
	r := open(t, t.TempDir())
	w := r.Workspace("acme")
	if err := w.Ensure(t.Context(), task("ht-5")); err != nil {
		t.Fatal(err)
	}
	r.write(t)
	foreign := []string{
		`{"id":"bd-1", "title":"<spaced>", "status":"tombstone", "n":1e400, "priority":9}`,
		`{"id":"zz-1","title":"\u003c","unknown":[1, 2]}`,
		`{"_type":"memory","key":"k","value":"v"}`,
	}
	spoil(t, r, append([]byte(strings.Join(foreign, "\n")+"\n"), r.file(t, "acme")...))
	if err := w.Ensure(t.Context(), task("ht-1")); err != nil {
		t.Fatal(err)
	}
	r.write(t)
	lines := strings.Split(strings.TrimSpace(string(r.file(t, "acme"))), "\n")
	if len(lines) != 5 {
		t.Fatalf("got %d lines, want 5", len(lines))
	}
	for n, want := range []string{foreign[0], "ht-1", "ht-5", foreign[1], foreign[2]} {
		if !strings.Contains(lines[n], want) {
			t.Errorf("line %d: got %.60s, want %.60s", n+1, lines[n], want)
		}
	}
}

func TestStore_EraseReachesWhatWasPutAside(t *testing.T) {
	r := open(t, t.TempDir())
	w := r.Workspace("acme")
	i := task("ht-1")
	i.Title = "hunter2"
	if err := errors.Join(w.Ensure(t.Context(), i), w.Ensure(t.Context(), task("ht-2"))); err != nil {
		t.Fatal(err)
	}
	r.write(t)
	path := spoil(t, r, append(r.file(t, "acme"), "half a line of hunter2"...))
	if err := w.Transition(t.Context(), beads.Transition{Issue: "ht-2", To: beads.Blocked, At: at(1)}); err != nil {
		t.Fatal(err)
	}
	r.write(t)
	if err := w.Erase(t.Context(), "ht-1", "erased"); err != nil {
		t.Fatal(err)
	}
	r.write(t)
	names, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	if err != nil || len(names) != 2 {
		t.Fatalf("got files %q, error %v", names, err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte("hunter2")) || !bytes.Contains(data, []byte("ht-2")) {
			t.Errorf("%s: %s", name, data)
		}
	}
}

func TestStore_OneBadWorkspaceKeepsNoOtherBack(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"Folder":   func(path string) error { return os.MkdirAll(path, 0o700) },
		"NoFolder": func(path string) error { return os.WriteFile(filepath.Dir(path), nil, 0o600) },
		"Pipe": func(path string) error {
			return errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), syscall.Mkfifo(path, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t, t.TempDir())
			bad, err := beads.File(r.dir, "bad")
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Dir(bad)), 0o700), spoil(bad)); err != nil {
				t.Fatal(err)
			}
			tenants := []string{"acme", "bad", "beta", "gamma", "delta", "epsilon"}
			for _, tenant := range tenants {
				if err := r.Workspace(tenant).Ensure(t.Context(), task("ht-1")); err != nil {
					t.Fatal(err)
				}
			}
			done := make(chan error, 1)
			go func() { done <- errors.Join(r.Flush(t.Context()), r.Export(t.Context())) }()
			select {
			case err = <-done:
			case <-time.After(20 * time.Second):
				t.Fatal("export waits for ever")
			}
			if !errors.Is(err, beads.ErrTransient) {
				t.Errorf("got %v, want %v", err, beads.ErrTransient)
			}
			for _, tenant := range tenants {
				if tenant == "bad" {
					continue
				}
				path, err := beads.File(r.dir, tenant)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := os.Stat(path); err != nil {
					t.Errorf("%s was kept back: %v", tenant, err)
				}
			}
		})
	}
}

// An edit with a future time would block later changes, so it gets the current time.
func TestStore_EditsOfTheFutureAreOfNow(t *testing.T) {
	r := open(t, t.TempDir())
	w := r.Workspace("acme")
	if err := w.Ensure(t.Context(), task("ht-1")); err != nil {
		t.Fatal(err)
	}
	r.write(t)
	i, err := beads.ParseLine(bytes.TrimSuffix(r.file(t, "acme"), []byte("\n")))
	if err != nil {
		t.Fatal(err)
	}
	i.Status, i.UpdatedAt = beads.InProgress, time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	line, err := i.AppendLine(nil)
	if err != nil {
		t.Fatal(err)
	}
	spoil(t, r, line)
	if _, err := w.Edits(t.Context()); err != nil {
		t.Fatal(err)
	}
	err = w.Transition(t.Context(), beads.Transition{Issue: "ht-1", To: beads.Closed, At: time.Now().Add(time.Minute), Reason: "done"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := w.Get(t.Context(), "ht-1"); err != nil || got.Status != beads.Closed {
		t.Errorf("the issue is %s, error %v, want closed", got.Status, err)
	}
}
