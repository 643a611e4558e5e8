package verifier_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/pkg/events"
)

//guarantee:verify-hidden-rows
func TestGauntlet_RowsBehindAllNumbers(t *testing.T) {
	key := ledgertest.NewKey(t)
	path := ledgertest.Write(t, t.TempDir(), key, ledgertest.GauntletFeed(), 40)
	for name, statements := range map[string][]string{
		"Payload": {fmt.Sprintf("INSERT INTO payloads (leaf, bytes) VALUES (%d, x'7b7d')", int64(math.MaxInt64))},
		"Erased": {
			fmt.Sprintf("INSERT INTO erased (leaf, word, ordered) VALUES (%d, 'erased', 5)", int64(math.MaxInt64)),
		},
		"Order":      {fmt.Sprintf("INSERT INTO orders VALUES (%d, 'o', 'hold', 'done', '')", int64(math.MaxInt64))},
		"Blob":       {fmt.Sprintf("INSERT INTO blobs VALUES (%d, randomblob(32), x'')", int64(math.MaxInt64))},
		"Hashes":     {fmt.Sprintf("INSERT INTO hashes VALUES (%d, x'')", int64(math.MaxInt64))},
		"Checkpoint": {fmt.Sprintf("INSERT INTO checkpoints SELECT %d, size, note FROM checkpoints ORDER BY checkpoint DESC LIMIT 1", int64(math.MaxInt64))},
		"Leaf":       {fmt.Sprintf("INSERT INTO leaves SELECT %d, 'manifest', id, producer, sequence, run, kind, time, hash, finding, %d, %d, stored FROM leaves ORDER BY leaf DESC LIMIT 1", int64(math.MaxInt64), int64(math.MaxInt64), int64(math.MaxInt64))},
		"Seen":       {fmt.Sprintf("INSERT INTO seen SELECT %d, leaf, producer, sequence, hash, %d, %d, stored FROM seen ORDER BY seen DESC LIMIT 1", int64(math.MaxInt64), int64(math.MaxInt64), int64(math.MaxInt64))},
		"Producer":   {fmt.Sprintf("INSERT INTO producers VALUES (%d, 'o')", int64(math.MaxInt64))},
		"Chunk":      {fmt.Sprintf("INSERT INTO chunks VALUES (randomblob(32), 0, %d)", int64(math.MaxInt64))},
	} {
		t.Run(name, func(t *testing.T) {
			to, ok := ledgertest.Attack(t, path, statements...)
			if !ok {
				t.Fatal("the attack did not work")
			}
			ledgertest.WantInvalid(t, to, key, name)
		})
	}
}

// A lookup misses index entries that are out of order.
//
//guarantee:verify-hidden-rows
func TestGauntlet_IndexesOutOfOrder(t *testing.T) {
	key, f := ledgertest.NewKey(t), ledgertest.NewFeed("acme")
	f.Run("coder", "r1", 2)
	f.Run("tester", "r2", 2)
	f.Event("coder", "r3", events.BlobChunk, events.BlobChunkData{
		SHA256: events.HashOf([]byte("content")).String(), Bytes: 7, Chunks: 2, Content: []byte("con"),
	})
	f.Event("coder", "r3", events.BlobChunk, events.BlobChunkData{
		SHA256: events.HashOf([]byte("content")).String(), Bytes: 7, Chunks: 2, Index: 1, Content: []byte("tent"),
	})
	f.Manifest("coder")
	for range 2 {
		e, err := events.Decode(f.Messages[1].Data)
		if err != nil {
			t.Fatal(err)
		}
		f.Publish("import", e)
	}
	f.Manifest("import")
	f.Order(t, key, ledger.Order{ID: "one", Action: events.AuditHold, Selection: ledger.OrderSelection{Run: "elsewhere"}})
	f.Order(t, key, ledger.Order{ID: "two", Action: events.AuditHold, Selection: ledger.OrderSelection{Run: "elsewhere"}})
	f.Order(t, key, ledgertest.EraseRun("r2"))
	path := ledgertest.Write(t, t.TempDir(), key, f, 1000)
	if r := ledgertest.Verify(t, path, key, verifier.Options{}); r.Integrity != verifier.Verified || r.Redacted.Erased == 0 || r.SeenAgain < 2 {
		t.Fatalf("before any attack: %+v", r)
	}
	roots := make(map[string]int64)
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	err = sqlitex.Execute(conn, "SELECT name, rootpage FROM sqlite_schema WHERE type = 'index' OR name = 'chunks'",
		&sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error { roots[s.ColumnText(0)] = s.ColumnInt64(1); return nil }})
	if err != nil || len(roots) == 0 {
		t.Fatal(len(roots), err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, page := range roots {
		t.Run(name, func(t *testing.T) {
			swapped := append([]byte(nil), data...)
			p := swapped[(page-1)*pageSize : page*pageSize]
			if p[0] != 10 || binary.BigEndian.Uint16(p[3:]) < 2 { // a leaf of an index
				t.Fatalf("page of type %d with %d entries", p[0], binary.BigEndian.Uint16(p[3:]))
			}
			a, b := binary.BigEndian.Uint16(p[8:]), binary.BigEndian.Uint16(p[10:])
			binary.BigEndian.PutUint16(p[8:], b)
			binary.BigEndian.PutUint16(p[10:], a)
			to := filepath.Join(t.TempDir(), ledger.FileName)
			if err := os.WriteFile(to, swapped, 0o600); err != nil {
				t.Fatal(err)
			}
			ledgertest.WantInvalid(t, to, key, name)
		})
	}
}

// Checkpoints that only record a time or a break cover no new leaf. Only a trusted checkpoint
// reveals that they were removed.
//
//guarantee:verify-last-checkpoints
func TestForgery_LastCheckpointsCutOff(t *testing.T) {
	key, f := ledgertest.NewKey(t), ledgertest.NewFeed("acme")
	f.Run("coder", "r1", 2)
	f.Event("coder", "r2", events.RunStarted, events.RunStartedData{Title: "crashed"})
	f.Manifest("coder")
	now := f.At()
	l, err := writer.Open(t.Context(), t.TempDir(), "acme", writer.Options{Key: key, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	ledgertest.AppendAll(t, l, ledgertest.Stream, f.Messages)
	now = now.Add(time.Hour)
	if err := l.Renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	renewed := l.Newest().Number
	at := l.Newest().Position
	at.Sequence += 10
	if err := l.Break(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	all := ledgertest.Notes(t, l.Path())
	if r := ledgertest.Verify(t, l.Path(), key, verifier.Options{}); r.Completeness != verifier.Unsealed || len(r.Breaks) != 1 {
		t.Fatalf("before any attack: %+v", r)
	}
	silenced, _ := ledgertest.Attack(t, l.Path(), fmt.Sprintf("DELETE FROM checkpoints WHERE checkpoint >= %d", renewed))
	r := ledgertest.Verify(t, silenced, key, verifier.Options{Trusted: []byte(all[renewed-1])})
	ledgertest.WantVerdicts(t, r, verifier.Verified, verifier.Unsealed)
	r = ledgertest.Verify(t, silenced, key, verifier.Options{Anchored: []verifier.Anchored{{From: "bucket", Note: []byte(all[renewed-1])}}})
	ledgertest.WantVerdicts(t, r, verifier.Verified, verifier.Unsealed)
	unbroken, _ := ledgertest.Attack(t, l.Path(), fmt.Sprintf("DELETE FROM checkpoints WHERE checkpoint > %d", renewed))
	if r := ledgertest.Verify(t, unbroken, key, verifier.Options{Trusted: []byte(all[renewed])}); r.Exit != verifier.ExitDiverged {
		t.Errorf("without its break: got exit %d, %+v, want %d", r.Exit, r.Trusted, verifier.ExitDiverged)
	}
	for i, note := range all {
		if r := ledgertest.Verify(t, l.Path(), key, verifier.Options{Trusted: []byte(note)}); r.Exit != verifier.ExitIncomplete {
			t.Errorf("honest, checkpoint %d: got exit %d, %+v", i+1, r.Exit, r.Trusted)
		}
	}
}

//guarantee:verify-false-manifest
func TestForgery_ManifestWithoutEnd(t *testing.T) {
	key, f := ledgertest.NewKey(t), ledgertest.NewFeed("acme")
	f.Run("coder", "r1", 2)
	path := ledgertest.Write(t, t.TempDir(), key, f, 1000)
	lie := events.Manifest{
		Version: 1, Tenant: "acme", Producer: "coder", First: 1, Last: 7, Count: 1,
		Missing: []events.Range{{First: 0, Last: math.MaxUint64}}, Root: events.BatchRoot(nil).String(),
	}
	to, ok := ledgertest.Attack(t, path, fmt.Sprintf("UPDATE payloads SET bytes = x'%x' WHERE leaf = (SELECT leaf FROM leaves WHERE class = 'manifest')", lie.Encode()))
	if !ok {
		t.Fatal("the attack did not work")
	}
	ledgertest.WantInvalid(t, to, key, "a manifest without end")
}

// Only SQLite's own check finds changes in values such as the number of free pages.
func TestVerify_PagesThatNoRowShows(t *testing.T) {
	key, f := ledgertest.NewKey(t), ledgertest.NewFeed("acme")
	f.Run("coder", "r1", 3)
	path := ledgertest.CopyFile(t, ledgertest.Write(t, t.TempDir(), key, f, 2))
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const freePages = 36 // offset of the number of free pages in the header
	data[freePages+3]++
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	r := ledgertest.Verify(t, path, key, verifier.Options{})
	if r.Integrity != verifier.Invalid || r.ProblemCount != 1 || !strings.Contains(r.Problems[0], "the database is damaged") {
		t.Errorf("got %s, %q, want the damage of the pages alone", r.Integrity, r.Problems)
	}
}

func TestVerify_LinkToALedgerAtWork(t *testing.T) {
	key, f := ledgertest.NewKey(t), ledgertest.NewFeed("acme")
	f.Run("coder", "r1", 2)
	l, err := writer.Open(t.Context(), t.TempDir(), "acme", writer.Options{Key: key, Now: f.At})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ledgertest.AppendAll(t, l, ledgertest.Stream, f.Messages)
	if _, err := os.Stat(l.Path() + "-wal"); err != nil {
		t.Fatalf("there is no log: %v", err)
	}
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(l.Path(), link); err != nil {
		t.Fatal(err)
	}
	r := ledgertest.Verify(t, link, key, verifier.Options{})
	ledgertest.WantVerdicts(t, r, verifier.Verified, verifier.Complete)
	if r.Leaves != int64(len(f.Messages)) {
		t.Errorf("got %d leaves, want %d", r.Leaves, len(f.Messages))
	}
}

//guarantee:verify-false-seal
func TestVerify_ForgedSeals(t *testing.T) {
	for name, lie := range map[string]events.RunSealedData{
		"BehindAll": {Count: 3, First: 1, Last: math.MaxUint64},
		"Backwards": {Count: 3, First: 3, Last: 1},
		"FromZero":  {Count: 3, First: 0, Last: 2},
		"OfNothing": {Count: 1},
		"Later":     {Count: 3, First: 90, Last: 93},
	} {
		t.Run(name, func(t *testing.T) {
			key, f := ledgertest.NewKey(t), ledgertest.NewFeed("acme")
			f.Event("coder", "r1", events.RunStarted, events.RunStartedData{Title: "a run"})
			f.Event("coder", "r1", events.RunFinished, events.RunFinishedData{Success: true})
			lie.Digest = events.Hash{}.String()
			e, err := events.New(events.RunSealed, "/test", lie)
			if err != nil {
				t.Fatal(err)
			}
			e.ID, e.Run, e.Subject = lie.ID("acme", "coder", "r1"), "r1", "r1"
			f.Publish("coder", e)
			f.Manifest("coder")
			r := ledgertest.Verify(t, ledgertest.Write(t, t.TempDir(), key, f, 1000), key, verifier.Options{})
			ledgertest.WantVerdicts(t, r, verifier.Verified, verifier.Gaps)
			if len(r.Gaps) != 1 || r.Gaps[0].Cause != verifier.CauseSeal || r.Gaps[0].Run != "r1" {
				t.Errorf("got %+v", r.Gaps)
			}
		})
	}
}

//guarantee:verify-names
func TestVerify_HostileNames(t *testing.T) {
	key, f := ledgertest.NewKey(t), ledgertest.NewFeed("acme")
	names := []string{"é", "e\u0301", "a", "A", " a", "a ", "\u202ea", "%00", "\ufeff", "1", "01", "1.0", "1e0", "NULL", "\U0010ffff"}
	for _, name := range names {
		f.Run(name, "r "+name, 1)
		e := f.Event(name, "r "+name, events.Custom, events.CustomData{Name: name})
		e.ID = name
		f.Publish(name, e)
		f.Seal(name, "r "+name)
		f.Manifest(name)
	}
	path := ledgertest.Write(t, t.TempDir(), key, f, 7)
	r := ledgertest.Verify(t, path, key, verifier.Options{Tenant: "acme"})
	ledgertest.WantVerdicts(t, r, verifier.Verified, verifier.Complete)
	if r.SetApart+r.SeenAgain > 0 || len(r.Producers) != len(names) || r.Runs.Sealed != len(names) {
		t.Errorf("got %+v", r)
	}
	for _, e := range ledgertest.Leaves(t, path) {
		leaf := e.LeafOf()
		if _, err := ledger.ParseLeaf(leaf.Encode()); err != nil {
			t.Errorf("leaf %d: %v", e.Leaf, err)
		}
	}
}
