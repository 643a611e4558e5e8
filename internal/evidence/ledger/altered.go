package ledger

import (
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// RecordError says that a record differs from its leaf, or the leaf from the stored tree. It
// is also [ErrDamaged].
type RecordError struct {
	Leaf int64
	ID   string // of the event; empty for a manifest
	Err  error  // the difference
}

// Error implements error.
func (e *RecordError) Error() string {
	if e.ID == "" {
		return fmt.Sprintf("leaf %d: %v", e.Leaf, e.Err)
	}
	return fmt.Sprintf("leaf %d, event %q: %v", e.Leaf, e.ID, e.Err)
}

// Unwrap returns the difference.
func (e *RecordError) Unwrap() error { return e.Err }

// Is reports that the error is also [ErrDamaged].
func (e *RecordError) Is(target error) bool { return target == ErrDamaged }

// ExitStatus returns the exit status of a command that ends with the error. It is the
// status of an invalid ledger.
func (e *RecordError) ExitStatus() int { return 40 }

var (
	errAltered = errors.New("its record was altered")
	errNotLeaf = errors.New("it differs from the tree")
)

// recordCheck compares records with their leaves, and leaves with the stored tree. Both are
// in one file, so it finds changes by hand and by bad disks. Only the verifier finds changes
// that were made everywhere.
type recordCheck struct {
	conn  *sqlite.Conn
	chunk int64 // number of row; -1 is none
	row   []byte
	leaf  []byte
}

func newRecordCheck(conn *sqlite.Conn) *recordCheck { return &recordCheck{conn: conn, chunk: -1} }

// record checks an entry. stmt is its row as [source.page] selects it.
func (c *recordCheck) record(stmt *sqlite.Stmt, e Entry) error {
	if !e.Removal.Done() && events.HashOf(e.Bytes) != e.Hash {
		return errAltered
	}
	f := LeafFields[string]{
		Class: string(e.Class), ID: e.ID, Producer: e.Producer, Sequence: e.Sequence, Run: e.Run,
		Kind: string(e.Kind), Time: stmt.ColumnText(11), Finding: string(e.Finding),
	}
	c.leaf = AppendLeaf(c.leaf[:0], f, e.Hash[:])
	index := tlog.StoredHashIndex(0, e.Leaf)
	if chunk := index / HashesPerRow; chunk != c.chunk {
		row, err := HashRow(c.conn, chunk)
		if err != nil {
			return err
		}
		c.row, c.chunk = row, chunk
	}
	at := int(index % HashesPerRow * tlog.HashSize)
	if len(c.row) < at+tlog.HashSize || tlog.Hash(c.row[at:at+tlog.HashSize]) != tlog.RecordHash(c.leaf) {
		return errNotLeaf
	}
	return nil
}
