package pins

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
)

var seen = time.Date(2026, 11, 20, 9, 14, 7, 0, time.UTC)

func newKey(tb testing.TB) string {
	tb.Helper()
	k, err := writer.OpenKey(tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	return k.Public()
}

func never(string) bool { return false }

func pin(tb testing.TB, path string, e Entry, follows func(string) bool) (Outcome, Entry) {
	tb.Helper()
	o, before, err := Pin(tb.Context(), path, e, follows)
	if err != nil {
		tb.Fatal(err)
	}
	return o, before
}

func entries(tb testing.TB, path string) []Entry {
	tb.Helper()
	list, err := Read(path)
	if err != nil {
		tb.Fatal(err)
	}
	return list
}

// The first key stays, unless a signed change leads to the new key.
func TestPin(t *testing.T) {
	path := filepath.Join(t.TempDir(), "made", "known_ledgers")
	first := Entry{Origin: AnyOrigin, Dir: "/a \"b\"\n", Key: newKey(t), Seen: seen}
	if o, _ := pin(t, path, first, never); o != Added {
		t.Errorf("the first key: got %s", o)
	}
	later := first
	later.Seen = seen.Add(time.Hour)
	if o, before := pin(t, path, later, never); o != Unchanged || before != first {
		t.Errorf("the same key: got %s, %+v", o, before)
	}
	other := later
	other.Key = newKey(t)
	if o, before := pin(t, path, other, never); o != Refused || before != first {
		t.Errorf("another key: got %s, %+v", o, before)
	}
	elsewhere := other
	elsewhere.Dir = AnyDir
	if o, _ := pin(t, path, elsewhere, never); o != Added {
		t.Errorf("another data directory: got %s", o)
	}
	if diff := cmp.Diff([]Entry{first, elsewhere}, entries(t, path)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if o, before := pin(t, path, other, func(key string) bool { return key == first.Key }); o != Replaced || before != first {
		t.Errorf("a successor: got %s, %+v", o, before)
	}
	if diff := cmp.Diff([]Entry{other, elsewhere}, entries(t, path)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for name, mode := range map[string]os.FileMode{path: 0o600, path + ".lock": 0o600, filepath.Dir(path): 0o700 | os.ModeDir} {
		if info, err := os.Stat(name); err != nil || info.Mode() != mode {
			t.Errorf("%s: got %v, %v, want %v", name, info.Mode(), err, mode)
		}
	}
}

func TestPin_AtOnce(t *testing.T) {
	path, key := filepath.Join(t.TempDir(), "known_ledgers"), newKey(t)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if _, _, err := Pin(context.WithoutCancel(t.Context()), path, Entry{AnyOrigin, fmt.Sprint("/", i), key, seen}, never); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(entries(t, path)); n != 20 {
		t.Errorf("got %d entries, want 20", n)
	}
}

// Comments are kept. An invalid line is an error.
func TestRead(t *testing.T) {
	path, key := filepath.Join(t.TempDir(), "known_ledgers"), newKey(t)
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	first := Entry{Origin: "hooktrail/acme", Dir: AnyDir, Key: key, Seen: seen}
	write("# a comment\n\n" + first.String() + " \r\n")
	second := Entry{Origin: AnyOrigin, Dir: "/data", Key: key, Seen: seen}
	pin(t, path, second, never)
	text, err := os.ReadFile(path)
	if want := "# a comment\n\n" + first.String() + "\n" + second.String() + "\n"; err != nil || string(text) != want {
		t.Errorf("got %v and\n%s\nwant\n%s", err, text, want)
	}
	write("# a comment\n* /data " + key + " 2026-11-20T09:14:07Z\n")
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("got %v", err)
	}
	if list, err := Read(filepath.Join(t.TempDir(), "none")); err != nil || list != nil {
		t.Errorf("no file: got %v, %v", list, err)
	}
}

func TestFollow(t *testing.T) {
	dir := t.TempDir()
	k, err := writer.OpenKey(dir)
	if err != nil {
		t.Fatal(err)
	}
	keys := []string{k.Public()}
	for _, tenants := range [][]string{{"acme"}, {"acme", "other"}} {
		done, err := writer.Rotate(writer.Rotation{Dir: dir, Tenants: tenants, Order: ledger.Order{Time: seen, By: "jdoe", Reason: "test"}})
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, done.Key)
	}
	_, changes, err := ledger.ReadChain(dir, keys[2])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(keys[1:], Follow(keys[0], changes)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if Leads(keys[2], keys[0], changes) || Leads(newKey(t), keys[2], changes) {
		t.Error("a key that no change names is followed")
	}
	// An unsigned change does not count.
	thief := newKey(t)
	changes[1].New = thief
	if Leads(keys[0], thief, changes) {
		t.Error("an unsigned change is followed")
	}
	changes[1].Orders = nil
	if Leads(keys[0], thief, changes) {
		t.Error("a change without orders is followed")
	}
}

func FuzzParseEntry(f *testing.F) {
	key := newKey(f)
	for _, e := range []Entry{{AnyOrigin, "/data", key, seen}, {"hooktrail/acme", AnyDir, key, seen}, {AnyOrigin, "a\"\n \x00é", key, seen}} {
		f.Add(e.String())
	}
	f.Add(`* "" ` + strings.ToUpper(key) + ` 2026-11-20T09:14:07+01:00`)
	f.Fuzz(func(t *testing.T, line string) {
		e, err := ParseEntry(line)
		if err != nil {
			return
		}
		if e.String() != line || strings.ContainsAny(line, "\r\n") {
			t.Errorf("%q is read as %q", line, e)
		}
	})
}
