package ledger

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/pkg/events"
)

const (
	entriesPerPage = 256
	bytesPerPage   = 4 << 20
)

var errPageFull = errors.New("the page is full")

// Entry is one record of a ledger.
type Entry struct {
	Leaf           int64 // from 0
	Class          Class
	Finding        Finding
	ID             string
	Producer       string
	Sequence       uint64 // number from the producer; in a manifest, the last listed one
	Run            string
	Kind           events.Kind
	Time           time.Time // UTC; zero if the leaf has none
	Epoch          uint64    // see [Position]
	StreamSequence uint64
	Stored         time.Time // when the server stored it
	Hash           events.Hash
	Bytes          []byte // verbatim; nil if destroyed
	Removal        Removal

	altered *RecordError
}

// Manifest reports whether the record is a manifest, in which a producer lists the events that it
// has sent.
func (e Entry) Manifest() bool { return e.Class == ClassManifest }

// LeafOf returns the Merkle tree leaf of the entry.
func (e Entry) LeafOf() Leaf {
	return Leaf{
		Class: e.Class, ID: e.ID, Producer: e.Producer, Sequence: e.Sequence, Run: e.Run,
		Kind: e.Kind, Time: e.Time, Hash: e.Hash, Finding: e.Finding,
	}
}

// entries yields the records after the given leaf that satisfy the SQL condition where. args are
// the parameters of the condition, from ?3 on.
func (s *source) entries(ctx context.Context, after int64, where string, args ...any) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for {
			page, err := s.page(ctx, after, where, args...)
			if err != nil {
				yield(Entry{}, err)
				return
			}
			for _, e := range page {
				if e.altered != nil {
					err = fmt.Errorf("read ledger %s: %w", s.path, e.altered)
				}
				if !yield(e, err) {
					return
				}
				err = nil
				after = e.Leaf
			}
			if len(page) == 0 {
				return
			}
		}
	}
}

const (
	runColumn    = 18
	entryColumns = `l.leaf, l.class, l.finding, l.id, pr.name, l.sequence, r.name, l.kind, l.stream, l.stored, l.hash,
		l.time, l.epoch, x.word, x.ordered, p.bytes, p.cut, b.content`
	entryJoins = `LEFT JOIN payloads p ON p.leaf = l.leaf
		LEFT JOIN erased x ON x.leaf = l.leaf LEFT JOIN blobs b ON b.blob = p.blob LEFT JOIN producers pr ON pr.producer = l.producer
		LEFT JOIN runs r ON r.run = l.run`
)

func (s *source) page(ctx context.Context, after int64, where string, args ...any) (page []Entry, err error) {
	query := `SELECT ` + entryColumns + ` FROM leaves l ` + entryJoins + ` WHERE l.leaf > ?1` + where + ` ORDER BY l.leaf LIMIT ?2`
	size := 0
	err = s.view(ctx, func(conn *sqlite.Conn) error {
		check := newRecordCheck(conn)
		err := sqlitex.Execute(conn, query, &sqlitex.ExecOptions{
			Args: append([]any{after, entriesPerPage}, args...),
			ResultFunc: func(stmt *sqlite.Stmt) error {
				e, err := scanEntry(stmt)
				if err == nil {
					err = check.record(stmt, e)
				}
				if err != nil {
					e.altered = &RecordError{Leaf: e.Leaf, ID: e.ID, Err: err}
				}
				page = append(page, e)
				if size += len(e.Bytes); size >= bytesPerPage {
					return errPageFull
				}
				return nil
			},
		})
		if errors.Is(err, errPageFull) {
			return nil
		}
		return err
	})
	return page, err
}

func scanEntry(stmt *sqlite.Stmt) (Entry, error) {
	e := Entry{
		Leaf: stmt.ColumnInt64(0), Class: Class(stmt.ColumnText(1)), Finding: Finding(stmt.ColumnText(2)),
		ID: stmt.ColumnText(3), Producer: stmt.ColumnText(4), Sequence: uint64(stmt.ColumnInt64(5)),
		Run: stmt.ColumnText(6), Kind: events.Kind(stmt.ColumnText(7)),
		StreamSequence: uint64(stmt.ColumnInt64(8)),
	}
	if stored := stmt.ColumnInt64(9); stored != 0 {
		e.Stored = time.Unix(0, stored).UTC()
	}
	if stmt.ColumnLen(10) != len(e.Hash) {
		return e, errors.New("it has no hash")
	}
	stmt.ColumnBytes(10, e.Hash[:])
	e.Epoch = uint64(stmt.ColumnInt64(12))
	var err error
	if text := stmt.ColumnText(11); text != "" {
		if e.Time, err = time.Parse(timeLayout, text); err != nil {
			return e, errors.New("invalid time")
		}
	}
	if e.Removal, err = ScanRemoval(stmt, 13); err != nil || e.Removal.Done() {
		return e, err
	}
	if stmt.ColumnIsNull(15) {
		return e, ErrNoPayload
	}
	e.Bytes, err = joinPayload(stmt, 15)
	return e, err
}
