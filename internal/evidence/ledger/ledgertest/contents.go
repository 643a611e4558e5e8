package ledgertest

import (
	"errors"
	"fmt"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// ErrNoBlob means that the ledger lacks a part of the requested blob.
var ErrNoBlob = errors.New("blob is not in the ledger")

// Blob returns the blob with the given SHA-256 in hex, after checking the hash.
func Blob(path, sha256 string) (content []byte, err error) {
	whole, err := events.ParseHash(sha256)
	if err != nil {
		return nil, fmt.Errorf("blob: %w", err)
	}
	f, err := ledger.OpenFile(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	next := int64(0)
	err = sqlitex.Execute(f.Conn, `SELECT c.part, b.content FROM chunks c
		JOIN payloads p ON p.leaf = c.leaf JOIN blobs b ON b.blob = p.blob
		WHERE c.whole = ? ORDER BY c.part, c.leaf`, &sqlitex.ExecOptions{
		Args: []any{whole[:]},
		ResultFunc: func(stmt *sqlite.Stmt) error {
			if stmt.ColumnInt64(0) == next { // skips a chunk that arrived again
				content = append(content, sqlitetx.Bytes(stmt, 1)...)
				next++
			}
			return nil
		},
	})
	if err == nil && events.HashOf(content) != whole {
		err = fmt.Errorf("%w: %s", ErrNoBlob, sha256)
	}
	return content, err
}

// RemovedLeaves returns the leaf numbers of the records whose payloads were destroyed, sorted by
// the order that destroyed them and by number.
func RemovedLeaves(tb testing.TB, path string) []int64 {
	tb.Helper()
	f, err := ledger.OpenFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = f.Close() }() // it was read only
	leaves, err := sqlitetx.Ints(f.Conn, "SELECT leaf FROM erased ORDER BY ordered, leaf")
	if err != nil {
		tb.Fatal(err)
	}
	return leaves
}
