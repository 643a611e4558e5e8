package ledger

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/sumdb/tlog"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/pkg/events"
)

func TestErase(t *testing.T) {
	dir, key, f := t.TempDir(), testKey(t), newFeed("acme")
	f.secretive("coder/e4", "r-1", "", 40)
	f.secretive("coder/e4", "r-2", "", 40)
	path := write(t, dir, key, f, 17)
	before := leaves(t, path)
	o := f.order(t, key, resolved(t, path, eraseRun("r-1")))
	f.manifest("auditor/e1")
	continued(t, dir, key, f, 17)

	if found := remains(t, dir, secret("r-1")); len(found) > 0 {
		t.Errorf("the payloads are still there: %v", found)
	}
	report := checked(t, path, key)
	if report.Integrity != Verified || report.Completeness != Complete {
		t.Errorf("got %s, %s, want it verified and complete: %v %v", report.Integrity, report.Completeness, report.Problems, report.Gaps)
	}
	want := Redacted{Erased: 40, Orders: []OrderAt{{
		Leaf: 84, ID: o.ID, Action: events.AuditErase, By: "jdoe", Reason: "subject request", Time: o.Time,
		Selection: o.Selection, Effect: EffectDone, Records: 40,
	}}}
	if diff := cmp.Diff(want, report.Redacted); diff != "" {
		t.Errorf("redacted (-want +got):\n%s", diff)
	}
	r, err := OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i, e := range leaves(t, path)[:len(before)] {
		erased := i < 40
		if erased != (e.Removal == Removal{Word: Erased, Order: 84}) || erased != (e.Bytes == nil) || e.Hash != before[i].Hash {
			t.Errorf("leaf %d: removal %v, %d bytes", i, e.Removal, len(e.Bytes))
		}
		p, err := r.Prove(t.Context(), e.Leaf)
		if err != nil {
			t.Fatal(err)
		}
		c := root(t, path)
		if err := tlog.CheckRecord(p.Path, c.Size, c.Root, e.Leaf, tlog.RecordHash(before[i].LeafOf().Encode())); err != nil {
			t.Errorf("leaf %d: %v", i, err)
		}
	}
	n := 0
	for x, err := range r.Removed(t.Context(), -1) {
		if err != nil || x.Leaf != int64(n) {
			t.Errorf("removed: leaf %d, %v, want %d", x.Leaf, err, n)
		}
		n++
	}
	if n != 40 {
		t.Errorf("%d leaves are listed as removed, want 40", n)
	}
	if sum, err := r.Summary(t.Context(), "r-1"); err != nil || sum.Events != 41 || sum.Removed != 40 || !sum.Sealed {
		t.Errorf("summary: %+v, %v, want 41 events, 40 of them removed, sealed", sum, err)
	}
}

func TestErase_SameRootWhateverTheBatches(t *testing.T) {
	key, f := testKey(t), newFeed("acme")
	f.secretive("coder/e4", "r-1", "", 20)
	path := write(t, t.TempDir(), key, f, 1000)
	f.order(t, key, resolved(t, path, eraseRun("r-1")))
	f.secretive("coder/e4", "r-2", "", 5)
	want := root(t, write(t, t.TempDir(), key, f, 1000)).Root
	for _, batch := range []int{1, 2, 23, 24} {
		path := continued(t, t.TempDir(), key, f, batch)
		if got := root(t, path).Root; got != want {
			t.Errorf("batches of %d: root %s, want %s", batch, got, want)
		}
		if r := checked(t, path, key); r.Integrity != Verified || r.Redacted.Erased != 20 {
			t.Errorf("batches of %d: %s, %d erased: %v", batch, r.Integrity, r.Redacted.Erased, r.Problems)
		}
	}
}

func TestErase_ByEventAndUser(t *testing.T) {
	for name, s := range map[string]OrderSelection{
		"Event": {Event: events.DeriveID("coder/e4", "r-1", "7")},
		"User":  {User: "jane"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, key, f := t.TempDir(), testKey(t), newFeed("acme")
			f.secretive("coder/e4", "r-1", "jane", 10)
			f.secretive("coder/e4", "r-2", "john", 10)
			path := write(t, dir, key, f, 100)
			o := resolved(t, path, Order{Action: events.AuditErase, Selection: s})
			f.order(t, key, o)
			continued(t, dir, key, f, 100)
			r := checked(t, path, key)
			want := map[string]int64{"Event": 1, "User": 10}[name]
			if r.Integrity != Verified || r.Redacted.Erased != want || o.Leaves.Count() != want {
				t.Errorf("%s, %d erased of %v: %v", r.Integrity, r.Redacted.Erased, o.Leaves, r.Problems)
			}
			if name == "User" && len(remains(t, dir, secret("r-1"), []byte(`"userid":"jane"`))) > 0 {
				t.Error("the user's payloads are still there")
			}
		})
	}
}

func TestErase_WithoutAuthority(t *testing.T) {
	key := testKey(t)
	for name, publish := range map[string]func(*feed, Order){
		"AnotherKey": func(f *feed, o Order) { f.order(t, testKey(t), o) },
		"Unsigned": func(f *feed, o Order) {
			o.Tenant, o.ID, o.By, o.Reason, o.Time = "acme", "x", "eve", "none", f.now
			text, err := o.Text()
			if err != nil {
				t.Fatal(err)
			}
			f.event("coder/e4", "r-1", events.AuditAccessed, events.AuditAccessedData{Action: events.AuditErase, Order: text})
		},
		"AnotherTenant": func(f *feed, o Order) {
			other := newFeed("other")
			other.order(t, key, o)
			e, err := events.Decode(other.messages[0].Data)
			if err != nil {
				t.Fatal(err)
			}
			f.publish("coder/e4", e)
		},
		"AnotherKind": func(f *feed, o Order) {
			other := newFeed("acme")
			other.order(t, key, o)
			e, err := events.Decode(other.messages[0].Data)
			if err != nil {
				t.Fatal(err)
			}
			e.Type = events.Custom.Type()
			f.publish("coder/e4", e)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, f := t.TempDir(), newFeed("acme")
			f.secretive("coder/e4", "r-1", "", 5)
			path := write(t, dir, key, f, 100)
			publish(f, resolved(t, path, eraseRun("r-1")))
			continued(t, dir, key, f, 100)
			r := checked(t, path, key)
			if r.Integrity != Verified || r.Redacted.Erased != 0 || len(r.Redacted.Orders) != 0 {
				t.Errorf("%s, redacted %+v: %v", r.Integrity, r.Redacted, r.Problems)
			}
			if len(remains(t, dir, secret("r-1"))) == 0 {
				t.Error("it was erased")
			}
		})
	}
}

func TestErase_ComesAgain(t *testing.T) {
	dir, key, f := t.TempDir(), testKey(t), newFeed("acme")
	f.secretive("coder/e4", "r-1", "", 5)
	path := write(t, dir, key, f, 100)
	f.order(t, key, resolved(t, path, eraseRun("r-1")))
	again, err := events.Decode(f.messages[2].Data)
	if err != nil {
		t.Fatal(err)
	}
	f.publish("importer/e9", again) // under another number
	copied := f.messages[3]
	f.add(copied.Address, copied.Data) // and the very same
	continued(t, dir, key, f, 100)
	r := checked(t, path, key)
	if r.Integrity != Verified || r.SeenAgain != 1 || r.SetApart != 0 || r.Redacted.Erased != 5 {
		t.Errorf("%s, %d seen again, %d set apart, %d erased: %v", r.Integrity, r.SeenAgain, r.SetApart, r.Redacted.Erased, r.Problems)
	}
	if found := remains(t, dir, secret("r-1")); len(found) > 0 {
		t.Errorf("what came again was stored: %v", found)
	}
}

// TestErase_YoungerStream builds a ledger from a stream that has lost its
// beginning: there the order's leaves are others, and its words count.
func TestErase_YoungerStream(t *testing.T) {
	key, f := testKey(t), newFeed("acme")
	f.secretive("coder/e4", "r-0", "", 3)
	f.secretive("coder/e4", "r-1", "jane", 5)
	f.secretive("coder/e4", "r-2", "john", 5)
	path := write(t, t.TempDir(), key, f, 100)
	for name, s := range map[string]OrderSelection{
		"Run": {Run: "r-1"}, "User": {User: "jane"}, "Event": {Event: events.DeriveID("coder/e4", "r-1", "3")},
	} {
		t.Run(name, func(t *testing.T) {
			younger := *f
			younger.messages = slices.Clone(f.messages)
			younger.order(t, key, resolved(t, path, Order{Action: events.AuditErase, Selection: s}))
			younger.messages = younger.messages[5:]
			dir := t.TempDir()
			r := checked(t, continued(t, dir, key, &younger, 100), key)
			want := map[string]int64{"Run": 5, "User": 5, "Event": 1}[name]
			if r.Integrity != Verified || r.Redacted.Erased != want {
				t.Errorf("%s, %d erased: %v", r.Integrity, r.Redacted.Erased, r.Problems)
			}
			if found := remains(t, dir, secret("r-1")); len(found) > 0 && name != "Event" {
				t.Errorf("still there: %v", found)
			}
			if len(remains(t, dir, secret("r-2"))) == 0 {
				t.Error("another run was erased")
			}
		})
	}
}

// TestErase_Blobs erases content that other records have, and then those.
func TestErase_Blobs(t *testing.T) {
	dir, key, f := t.TempDir(), testKey(t), newFeed("acme")
	content := []byte(strings.Repeat("what is in the file. ", 3000))
	ref := events.BlobRef{SHA256: events.HashOf(content).String(), Bytes: int64(len(content))}
	carry := func(run string) events.Event {
		e, err := events.New(events.ToolResult, "/test", events.ToolResultData{
			Tool: "Read", Status: events.ToolSuccess, Common: events.Common{Blobs: map[string]events.BlobRef{"result": ref}},
		})
		if err != nil {
			t.Fatal(err)
		}
		e.ID, e.Run, e.Tenant, e.ToolCall = events.DeriveID(run), run, "acme", "call-"+run
		c, err := events.New(events.BlobChunk, "/test", events.BlobChunkData{SHA256: ref.SHA256, Bytes: ref.Bytes, Chunks: 1, Content: content})
		if err != nil {
			t.Fatal(err)
		}
		c.ID, c.Run = events.ChunkID("acme", e.ID, ref.SHA256, 0), run
		f.publish("coder/e4", c)
		return f.publish("coder/e4", e)
	}
	first, second := carry("r-1"), carry("r-2")
	path := write(t, dir, key, f, 100)
	for i, e := range []events.Event{first, second} {
		o := resolved(t, path, Order{Action: events.AuditErase, Selection: OrderSelection{Event: e.ID}})
		if n := o.Leaves.Count(); n != 2 {
			t.Errorf("the order concerns %d leaves, want the event and its chunk", n)
		}
		f.order(t, key, o)
		continued(t, dir, key, f, 100)
		if r := checked(t, path, key); r.Integrity != Verified || r.Redacted.Erased != int64(2*i+2) {
			t.Errorf("%s, %d erased: %v", r.Integrity, r.Redacted.Erased, r.Problems)
		}
		left := len(remains(t, dir, []byte("what is in the file. what is"), []byte(ref.SHA256)))
		if shared := i == 0; shared != (left > 0) {
			t.Errorf("after %d orders the content is in %d places", i+1, left)
		}
	}
}

// TestErase_ScrubbedAfterCrash kills the writer behind the commit, and lets a
// reader stand in the way of the next one.
func TestErase_ScrubbedAfterCrash(t *testing.T) {
	dir, key, f := t.TempDir(), testKey(t), newFeed("acme")
	f.secretive("coder/e4", "r-1", "", 30)
	path := write(t, dir, key, f, 100)
	f.order(t, key, resolved(t, path, eraseRun("r-1")))
	write(t, dir, key, f, 100) // and never scrubbed
	if unclean, err := Unclean(dir, "acme"); err != nil || !unclean {
		t.Fatalf("unclean: %v, %v", unclean, err)
	}
	l, err := Open(t.Context(), dir, "acme", Options{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	reader, err := sqlite.OpenConn(path, sqlite.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for _, q := range []string{"BEGIN", "SELECT count(*) FROM leaves"} {
		if err := sqlitex.ExecuteTransient(reader, q, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Scrub(t.Context()); !errors.Is(err, ErrScrubLater) {
		t.Errorf("scrub beside a reader: %v, want %v", err, ErrScrubLater)
	}
	if err := sqlitex.ExecuteTransient(reader, "COMMIT", nil); err != nil {
		t.Fatal(err)
	}
	if err := l.Scrub(t.Context()); err != nil {
		t.Fatal(err)
	}
	if unclean, err := Unclean(dir, "acme"); err != nil || unclean || l.Unclean() {
		t.Errorf("unclean: %v, %v", unclean, err)
	}
	// What SQLite needs room for meanwhile lies on the disk of the ledger.
	if err := sqlitex.ExecuteTransient(l.Conn(), "PRAGMA temp_store_directory", &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
		if got := stmt.ColumnText(0); got != filepath.Dir(path) {
			t.Errorf("written anew in %s, want %s", got, filepath.Dir(path))
		}
		return nil
	}}); err != nil {
		t.Fatal(err)
	}
	if found := remains(t, dir, secret("r-1")); len(found) > 0 {
		t.Errorf("still there: %v", found)
	}
	f.secretive("coder/e4", "r-2", "", 3)
	if _, err := l.Append(context.Background(), stream, f.messages); err != nil {
		t.Errorf("append behind it: %v", err)
	}
}
