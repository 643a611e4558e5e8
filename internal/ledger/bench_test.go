package ledger

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// benchFeed is events of about a kilobyte, in batches of 500 with manifests.
func benchFeed(n int) *feed {
	f := newFeed("acme")
	filler := bytes.Repeat([]byte("x"), 560)
	for i := 0; len(f.messages) < n; i++ {
		run := fmt.Sprint("run-", i)
		f.event("coder", run, events.RunStarted, events.RunStartedData{})
		for range 249 {
			f.event("coder", run, events.ToolBefore, events.ToolBeforeData{Tool: "Bash", Args: fmt.Appendf(nil, `{"command":"%s"}`, filler)})
			f.event("coder", run, events.ToolResult, events.ToolResultData{Status: events.ToolSuccess, Result: fmt.Appendf(nil, `"%s"`, filler)})
		}
		f.event("coder", run, events.RunFinished, events.RunFinishedData{})
		f.seal("coder", run)
		f.manifest("coder")
	}
	return f
}

// ratios measures pairs of runs, the limit first, and returns the median of how
// fast the second was compared with the first, and the spread.
func ratios(b *testing.B, limit, ours func() time.Duration) {
	b.Helper()
	var all []float64
	for b.Loop() {
		for range 7 {
			l := limit()
			all = append(all, float64(l)/float64(ours()))
		}
	}
	slices.Sort(all)
	b.ReportMetric(all[len(all)/2], "ratio")
	b.ReportMetric(all[0], "lowest")
	b.ReportMetric(all[len(all)-1], "highest")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkAppend compares the ledger with the same driver that is fed the same
// rows from memory, in transactions of the same size.
func BenchmarkAppend(b *testing.B) {
	f, key := benchFeed(20_000), testKey(b)
	model := write(b, b.TempDir(), key, f, 1000)
	rows := rowsOf(b, model)
	limit := func() time.Duration { return rows.insert(b) }
	ours := func() time.Duration {
		l, err := Open(b.Context(), b.TempDir(), f.tenant, Options{Key: key, CacheBytes: 64 << 20})
		if err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		for batch := range slices.Chunk(f.messages, 1000) {
			if _, err := l.Append(b.Context(), stream, batch); err != nil {
				b.Fatal(err)
			}
		}
		took := time.Since(start)
		if l.tree.size != int64(len(f.messages)) || l.Newest().Root != root(b, model).Root {
			b.Fatalf("got %d leaves, want %d", l.tree.size, len(f.messages))
		}
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
		return took
	}
	ratios(b, limit, ours)
}

// tableRows are the rows of a ledger, ready to be bound.
type tableRows struct {
	leaves, payloads [][]any
	hashes           [][]any
}

func rowsOf(b *testing.B, path string) *tableRows {
	b.Helper()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadOnly)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	read := func(query string) (rows [][]any) {
		err := sqlitex.Execute(conn, query, &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
			row := make([]any, stmt.ColumnCount())
			for i := range row {
				switch stmt.ColumnType(i) {
				case sqlite.TypeInteger:
					row[i] = stmt.ColumnInt64(i)
				case sqlite.TypeText:
					row[i] = stmt.ColumnText(i)
				case sqlite.TypeBlob:
					row[i] = columnBytes(stmt, i)
				}
			}
			rows = append(rows, row)
			return nil
		}})
		if err != nil {
			b.Fatal(err)
		}
		return rows
	}
	return &tableRows{
		leaves:   read("SELECT * FROM leaves ORDER BY leaf"),
		payloads: read("SELECT leaf, bytes FROM payloads ORDER BY leaf"),
		hashes:   read("SELECT * FROM hashes ORDER BY chunk"),
	}
}

// insert stores the rows in a new database with the tables, the settings and the
// transactions of a ledger.
func (r *tableRows) insert(b *testing.B) time.Duration {
	b.Helper()
	l, err := Open(b.Context(), b.TempDir(), "limit", Options{Key: testKey(b), CacheBytes: 64 << 20})
	if err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	for at := 0; at < len(r.leaves); at += 1000 {
		end := min(at+1000, len(r.leaves))
		err := within(context.Background(), l.conn, beginWrite, func() error {
			leaf := l.conn.Prep("INSERT INTO leaves VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
			payload := l.conn.Prep("INSERT INTO payloads (leaf, bytes) VALUES (?, ?)")
			for i := at; i < end; i++ {
				if err := bind(leaf, r.leaves[i]); err != nil {
					return err
				}
				if err := bind(payload, r.payloads[i]); err != nil {
					return err
				}
			}
			hash := l.conn.Prep("INSERT INTO hashes VALUES (?, ?)")
			for i := len(r.hashes) * at / len(r.leaves); i < len(r.hashes)*end/len(r.leaves); i++ {
				if err := bind(hash, r.hashes[i]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	took := time.Since(start)
	if n, err := queryInt(l.conn, "SELECT count(*) FROM leaves"); err != nil || n != int64(len(r.leaves)) {
		b.Fatalf("got %d rows, want %d: %v", n, len(r.leaves), err)
	}
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	return took
}

func bind(stmt *sqlite.Stmt, row []any) error {
	for i, v := range row {
		switch v := v.(type) {
		case int64:
			stmt.BindInt64(i+1, v)
		case string:
			stmt.BindText(i+1, v)
		case []byte:
			stmt.BindBytes(i+1, v)
		}
	}
	return run(stmt)
}

// BenchmarkVerify compares a verification with hashing the same from memory:
// records, leaves and tree.
func BenchmarkVerify(b *testing.B) {
	f, key := benchFeed(100_000), testKey(b)
	path := write(b, b.TempDir(), key, f, 1000)
	all := leaves(b, path)
	encoded := make([][]byte, len(all))
	for i, e := range all {
		encoded[i] = Leaf{
			Class: e.Class, ID: e.ID, Producer: e.Producer, Sequence: e.Sequence, Run: e.Run, Kind: e.Kind, Hash: e.Hash, Time: f.now,
		}.Encode()
	}
	b.Logf("%d leaves, file %s", len(all), filepath.Base(path))
	limit := func() time.Duration {
		start := time.Now()
		var edge tree
		for i, e := range all {
			if sha256.Sum256(e.Bytes) != e.Hash {
				b.Fatal("hash")
			}
			if _, err := edge.append(encoded[i]); err != nil {
				b.Fatal(err)
			}
		}
		if r, err := edge.root(); err != nil || r == (tlog.Hash{}) {
			b.Fatal("root")
		}
		return time.Since(start)
	}
	ours := func() time.Duration {
		start := time.Now()
		r := verify(b, path, key, VerifyOptions{})
		took := time.Since(start)
		if r.Exit != 0 || r.Leaves != int64(len(all)) {
			b.Fatalf("got %+v", r)
		}
		return took
	}
	ratios(b, limit, ours)
}
