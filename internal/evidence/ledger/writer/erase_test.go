package writer_test

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

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/pkg/events"
)

//guarantee:erase
func TestErase(t *testing.T) {
	dir, key, f := t.TempDir(), ledgertest.NewKey(t), ledgertest.NewFeed("acme")
	f.Secretive("coder/e4", "r-1", "", 40)
	f.Secretive("coder/e4", "r-2", "", 40)
	path := ledgertest.Write(t, dir, key, f, 17)
	before := ledgertest.Leaves(t, path)
	o := f.Order(t, key, ledgertest.Resolved(t, path, ledgertest.EraseRun("r-1")))
	f.Manifest("auditor/e1")
	ledgertest.Continued(t, dir, key, f, 17)

	if found := ledgertest.Remains(t, dir, ledgertest.Secret("r-1")); len(found) > 0 {
		t.Errorf("the payloads are still there: %v", found)
	}
	report := ledgertest.Checked(t, path, key)
	if report.Integrity != verifier.Verified || report.Completeness != verifier.Complete {
		t.Errorf("got %s, %s, want it verified and complete: %v %v", report.Integrity, report.Completeness, report.Problems, report.Gaps)
	}
	want := verifier.Redacted{Erased: 40, Orders: []verifier.OrderAt{{
		Leaf: 84, ID: o.ID, Action: events.AuditErase, By: "jdoe", Reason: "subject request", Time: o.Time,
		Selection: o.Selection, Effect: ledger.EffectDone, Records: 40,
	}}}
	if diff := cmp.Diff(want, report.Redacted); diff != "" {
		t.Errorf("redacted (-want +got):\n%s", diff)
	}
	r, err := ledger.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i, e := range ledgertest.Leaves(t, path)[:len(before)] {
		erased := i < 40
		if erased != (e.Removal == ledger.Removal{Word: ledger.Erased, Order: 84}) || erased != (e.Bytes == nil) || e.Hash != before[i].Hash {
			t.Errorf("leaf %d: removal %v, %d bytes", i, e.Removal, len(e.Bytes))
		}
		p, err := r.Tree().Prove(t.Context(), e.Leaf)
		if err != nil {
			t.Fatal(err)
		}
		c := ledgertest.Newest(t, path)
		if err := tlog.CheckRecord(p.Path, c.Size, c.Root, e.Leaf, tlog.RecordHash(before[i].LeafOf().Encode())); err != nil {
			t.Errorf("leaf %d: %v", i, err)
		}
	}
	removed := ledgertest.RemovedLeaves(t, path)
	for i, leaf := range removed {
		if leaf != int64(i) {
			t.Errorf("removed: leaf %d, want %d", leaf, i)
		}
	}
	if len(removed) != 40 {
		t.Errorf("%d leaves are listed as removed, want 40", len(removed))
	}
	if sum, err := r.Summary(t.Context(), "r-1"); err != nil || sum.Events != 41 || sum.Removed != 40 || !sum.Sealed {
		t.Errorf("summary: %+v, %v, want 41 events, 40 of them removed, sealed", sum, err)
	}
}

//guarantee:erase-rebuild
func TestErase_SameRootWhateverTheBatches(t *testing.T) {
	key, f := ledgertest.NewKey(t), ledgertest.NewFeed("acme")
	f.Secretive("coder/e4", "r-1", "", 20)
	path := ledgertest.Write(t, t.TempDir(), key, f, 1000)
	f.Order(t, key, ledgertest.Resolved(t, path, ledgertest.EraseRun("r-1")))
	f.Secretive("coder/e4", "r-2", "", 5)
	want := ledgertest.Newest(t, ledgertest.Write(t, t.TempDir(), key, f, 1000)).Root
	for _, batch := range []int{1, 2, 23, 24} {
		path := ledgertest.Continued(t, t.TempDir(), key, f, batch)
		if got := ledgertest.Newest(t, path).Root; got != want {
			t.Errorf("batches of %d: root %s, want %s", batch, got, want)
		}
		if r := ledgertest.Checked(t, path, key); r.Integrity != verifier.Verified || r.Redacted.Erased != 20 {
			t.Errorf("batches of %d: %s, %d erased: %v", batch, r.Integrity, r.Redacted.Erased, r.Problems)
		}
	}
}

//guarantee:erase
func TestErase_ByEventAndUser(t *testing.T) {
	for name, s := range map[string]ledger.OrderSelection{
		"Event": {Event: events.DeriveID("coder/e4", "r-1", "7")},
		"User":  {User: "jane"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, key, f := t.TempDir(), ledgertest.NewKey(t), ledgertest.NewFeed("acme")
			f.Secretive("coder/e4", "r-1", "jane", 10)
			f.Secretive("coder/e4", "r-2", "john", 10)
			path := ledgertest.Write(t, dir, key, f, 100)
			o := ledgertest.Resolved(t, path, ledger.Order{Action: events.AuditErase, Selection: s})
			f.Order(t, key, o)
			ledgertest.Continued(t, dir, key, f, 100)
			r := ledgertest.Checked(t, path, key)
			want := map[string]int64{"Event": 1, "User": 10}[name]
			if r.Integrity != verifier.Verified || r.Redacted.Erased != want || o.Leaves.Count() != want {
				t.Errorf("%s, %d erased of %v: %v", r.Integrity, r.Redacted.Erased, o.Leaves, r.Problems)
			}
			if name == "User" && len(ledgertest.Remains(t, dir, ledgertest.Secret("r-1"), []byte(`"userid":"jane"`))) > 0 {
				t.Error("the user's payloads are still there")
			}
		})
	}
}

//guarantee:order-forged
func TestErase_WithoutAuthority(t *testing.T) {
	key := ledgertest.NewKey(t)
	for name, publish := range map[string]func(*ledgertest.Feed, ledger.Order){
		"AnotherKey": func(f *ledgertest.Feed, o ledger.Order) { f.Order(t, ledgertest.NewKey(t), o) },
		"Unsigned": func(f *ledgertest.Feed, o ledger.Order) {
			o.Tenant, o.ID, o.By, o.Reason, o.Time = "acme", "x", "eve", "none", f.Now
			text, err := o.Text()
			if err != nil {
				t.Fatal(err)
			}
			f.Event("coder/e4", "r-1", events.AuditAccessed, events.AuditAccessedData{Action: events.AuditErase, Order: text})
		},
		"AnotherTenant": func(f *ledgertest.Feed, o ledger.Order) {
			other := ledgertest.NewFeed("other")
			other.Order(t, key, o)
			e, err := events.Decode(other.Messages[0].Data)
			if err != nil {
				t.Fatal(err)
			}
			f.Publish("coder/e4", e)
		},
		"AnotherKind": func(f *ledgertest.Feed, o ledger.Order) {
			other := ledgertest.NewFeed("acme")
			other.Order(t, key, o)
			e, err := events.Decode(other.Messages[0].Data)
			if err != nil {
				t.Fatal(err)
			}
			e.Type = events.Custom.Type()
			f.Publish("coder/e4", e)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, f := t.TempDir(), ledgertest.NewFeed("acme")
			f.Secretive("coder/e4", "r-1", "", 5)
			path := ledgertest.Write(t, dir, key, f, 100)
			publish(f, ledgertest.Resolved(t, path, ledgertest.EraseRun("r-1")))
			ledgertest.Continued(t, dir, key, f, 100)
			r := ledgertest.Checked(t, path, key)
			if r.Integrity != verifier.Verified || r.Redacted.Erased != 0 || len(r.Redacted.Orders) != 0 {
				t.Errorf("%s, redacted %+v: %v", r.Integrity, r.Redacted, r.Problems)
			}
			if len(ledgertest.Remains(t, dir, ledgertest.Secret("r-1"))) == 0 {
				t.Error("it was erased")
			}
		})
	}
}

//guarantee:erase
func TestErase_ComesAgain(t *testing.T) {
	dir, key, f := t.TempDir(), ledgertest.NewKey(t), ledgertest.NewFeed("acme")
	f.Secretive("coder/e4", "r-1", "", 5)
	path := ledgertest.Write(t, dir, key, f, 100)
	f.Order(t, key, ledgertest.Resolved(t, path, ledgertest.EraseRun("r-1")))
	again, err := events.Decode(f.Messages[2].Data)
	if err != nil {
		t.Fatal(err)
	}
	f.Publish("importer/e9", again) // with another number
	copied := f.Messages[3]
	f.Add(copied.Address, copied.Data) // with the same number
	ledgertest.Continued(t, dir, key, f, 100)
	r := ledgertest.Checked(t, path, key)
	if r.Integrity != verifier.Verified || r.SeenAgain != 1 || r.SetApart != 0 || r.Redacted.Erased != 5 {
		t.Errorf("%s, %d seen again, %d set apart, %d erased: %v", r.Integrity, r.SeenAgain, r.SetApart, r.Redacted.Erased, r.Problems)
	}
	if found := ledgertest.Remains(t, dir, ledgertest.Secret("r-1")); len(found) > 0 {
		t.Errorf("what came again was stored: %v", found)
	}
}

// The leaves of a stream without its beginning differ from those of the order, so the selection
// applies.
//
//guarantee:erase-rebuild
func TestErase_YoungerStream(t *testing.T) {
	key, f := ledgertest.NewKey(t), ledgertest.NewFeed("acme")
	f.Secretive("coder/e4", "r-0", "", 3)
	f.Secretive("coder/e4", "r-1", "jane", 5)
	f.Secretive("coder/e4", "r-2", "john", 5)
	path := ledgertest.Write(t, t.TempDir(), key, f, 100)
	for name, s := range map[string]ledger.OrderSelection{
		"Run": {Run: "r-1"}, "User": {User: "jane"}, "Event": {Event: events.DeriveID("coder/e4", "r-1", "3")},
	} {
		t.Run(name, func(t *testing.T) {
			younger := *f
			younger.Messages = slices.Clone(f.Messages)
			younger.Order(t, key, ledgertest.Resolved(t, path, ledger.Order{Action: events.AuditErase, Selection: s}))
			younger.Messages = younger.Messages[5:]
			dir := t.TempDir()
			r := ledgertest.Checked(t, ledgertest.Continued(t, dir, key, &younger, 100), key)
			want := map[string]int64{"Run": 5, "User": 5, "Event": 1}[name]
			if r.Integrity != verifier.Verified || r.Redacted.Erased != want {
				t.Errorf("%s, %d erased: %v", r.Integrity, r.Redacted.Erased, r.Problems)
			}
			if found := ledgertest.Remains(t, dir, ledgertest.Secret("r-1")); len(found) > 0 && name != "Event" {
				t.Errorf("still there: %v", found)
			}
			if len(ledgertest.Remains(t, dir, ledgertest.Secret("r-2"))) == 0 {
				t.Error("another run was erased")
			}
		})
	}
}

// The test erases content that other records share, and then those records.
//
//guarantee:erase
func TestErase_Blobs(t *testing.T) {
	dir, key, f := t.TempDir(), ledgertest.NewKey(t), ledgertest.NewFeed("acme")
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
		f.Publish("coder/e4", c)
		return f.Publish("coder/e4", e)
	}
	first, second := carry("r-1"), carry("r-2")
	path := ledgertest.Write(t, dir, key, f, 100)
	for i, e := range []events.Event{first, second} {
		o := ledgertest.Resolved(t, path, ledger.Order{Action: events.AuditErase, Selection: ledger.OrderSelection{Event: e.ID}})
		if n := o.Leaves.Count(); n != 2 {
			t.Errorf("the order concerns %d leaves, want the event and its chunk", n)
		}
		f.Order(t, key, o)
		ledgertest.Continued(t, dir, key, f, 100)
		if r := ledgertest.Checked(t, path, key); r.Integrity != verifier.Verified || r.Redacted.Erased != int64(2*i+2) {
			t.Errorf("%s, %d erased: %v", r.Integrity, r.Redacted.Erased, r.Problems)
		}
		left := len(ledgertest.Remains(t, dir, []byte("what is in the file. what is"), []byte(ref.SHA256)))
		if shared := i == 0; shared != (left > 0) {
			t.Errorf("after %d orders the content is in %d places", i+1, left)
		}
	}
}

// The writer stops after the commit without scrubbing, and a reader blocks the next writer.
//
//guarantee:erase-killed
func TestErase_ScrubbedAfterCrash(t *testing.T) {
	dir, key, f := t.TempDir(), ledgertest.NewKey(t), ledgertest.NewFeed("acme")
	f.Secretive("coder/e4", "r-1", "", 30)
	path := ledgertest.Write(t, dir, key, f, 100)
	f.Order(t, key, ledgertest.Resolved(t, path, ledgertest.EraseRun("r-1")))
	ledgertest.Write(t, dir, key, f, 100) // without scrubbing
	if unclean, err := writer.Unclean(dir, "acme"); err != nil || !unclean {
		t.Fatalf("unclean: %v, %v", unclean, err)
	}
	l, err := writer.Open(t.Context(), dir, "acme", writer.Options{Key: key})
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
	if err := l.Scrub(t.Context()); !errors.Is(err, writer.ErrScrubLater) {
		t.Errorf("scrub beside a reader: %v, want %v", err, writer.ErrScrubLater)
	}
	if err := sqlitex.ExecuteTransient(reader, "COMMIT", nil); err != nil {
		t.Fatal(err)
	}
	if err := l.Scrub(t.Context()); err != nil {
		t.Fatal(err)
	}
	if unclean, err := writer.Unclean(dir, "acme"); err != nil || unclean || l.Unclean() {
		t.Errorf("unclean: %v, %v", unclean, err)
	}
	// SQLite's temporary files are on the disk of the ledger.
	if err := sqlitex.ExecuteTransient(l.Conn(), "PRAGMA temp_store_directory", &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
		if got := stmt.ColumnText(0); got != filepath.Dir(path) {
			t.Errorf("written anew in %s, want %s", got, filepath.Dir(path))
		}
		return nil
	}}); err != nil {
		t.Fatal(err)
	}
	if found := ledgertest.Remains(t, dir, ledgertest.Secret("r-1")); len(found) > 0 {
		t.Errorf("still there: %v", found)
	}
	f.Secretive("coder/e4", "r-2", "", 3)
	if _, err := l.Append(context.Background(), ledgertest.Stream, f.Messages); err != nil {
		t.Errorf("append behind it: %v", err)
	}
}
