package ledger

import (
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// RecordError reports a record that is missing or altered. [errors.Is] treats it as [ErrDamaged].
type RecordError struct {
	Leaf int64
	ID   string // empty for a manifest
	Err  error
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

// Is makes [errors.Is] treat a RecordError as [ErrDamaged].
func (e *RecordError) Is(target error) bool { return target == ErrDamaged }

// ExitStatus returns 40, the exit status of commands that find an invalid ledger.
func (e *RecordError) ExitStatus() int { return 40 }

// MissingLeaf returns a [RecordError] about a leaf number that has no row in the ledger.
func MissingLeaf(leaf int64) error { return &RecordError{Leaf: leaf, Err: errNoRow} }

var (
	errNoRow   = errors.New("it is missing: auditor verify shows the problems")
	errAltered = errors.New("its record was altered")
	errNotLeaf = errors.New("it differs from the tree")
)

type recordCheck struct {
	conn  *sqlite.Conn
	chunk int64 // loaded row of the table hashes; -1 if none
	row   []byte
	leaf  []byte
}

func newRecordCheck(conn *sqlite.Conn) *recordCheck { return &recordCheck{conn: conn, chunk: -1} }

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
