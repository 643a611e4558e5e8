package writer_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
)

// BenchmarkAppend compares the ledger with plain inserts of the same rows.
func BenchmarkAppend(b *testing.B) {
	f, key := ledgertest.BenchFeed(20_000), ledgertest.NewKey(b)
	model := ledgertest.Write(b, b.TempDir(), key, f, 1000)
	rows := rowsOf(b, model)
	limit := func() time.Duration { return rows.insert(b) }
	ours := func() time.Duration {
		l, err := writer.Open(b.Context(), b.TempDir(), f.Tenant, writer.Options{Key: key, CacheBytes: 64 << 20})
		if err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		for batch := range slices.Chunk(f.Messages, 1000) {
			if _, err := l.Append(b.Context(), ledgertest.Stream, batch); err != nil {
				b.Fatal(err)
			}
		}
		took := time.Since(start)
		if l.Newest().Size != int64(len(f.Messages)) || l.Newest().Root != ledgertest.Newest(b, model).Root {
			b.Fatalf("got %d leaves, want %d", l.Newest().Size, len(f.Messages))
		}
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
		return took
	}
	ledgertest.Ratios(b, limit, ours)
}

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
					row[i] = sqlitetx.Bytes(stmt, i)
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

func (r *tableRows) insert(b *testing.B) time.Duration {
	b.Helper()
	l, err := writer.Open(b.Context(), b.TempDir(), "limit", writer.Options{Key: ledgertest.NewKey(b), CacheBytes: 64 << 20})
	if err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	for at := 0; at < len(r.leaves); at += 1000 {
		end := min(at+1000, len(r.leaves))
		err := sqlitetx.Within(context.Background(), l.Conn(), sqlitetx.BeginWrite, func() error {
			leaf := l.Conn().Prep("INSERT INTO leaves VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
			payload := l.Conn().Prep("INSERT INTO payloads (leaf, bytes) VALUES (?, ?)")
			for i := at; i < end; i++ {
				if err := bind(leaf, r.leaves[i]); err != nil {
					return err
				}
				if err := bind(payload, r.payloads[i]); err != nil {
					return err
				}
			}
			hash := l.Conn().Prep("INSERT INTO hashes VALUES (?, ?)")
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
	if n, err := sqlitetx.Int(l.Conn(), "SELECT count(*) FROM leaves"); err != nil || n != int64(len(r.leaves)) {
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
	return sqlitetx.Run(stmt)
}
