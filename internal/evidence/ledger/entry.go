package ledger

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/pkg/events"
)

const (
	entriesPerPage = 256
	bytesPerPage   = 4 << 20
)

// Entry is one record of a ledger.
type Entry struct {
	Leaf           int64 // index of its leaf, from 0
	Class          Class
	Finding        Finding // for conflicts and quarantine
	ID             string
	Producer       string
	Sequence       uint64 // of the producer; for a manifest, the last one that it lists
	Run            string
	Kind           events.Kind
	Time           time.Time // of the event, UTC; zero if the leaf has none
	Epoch          uint64    // of the stream; see [Position]
	StreamSequence uint64
	Stored         time.Time   // when the server stored the message
	Hash           events.Hash // of Bytes
	Bytes          []byte      // the event or manifest, verbatim; nil if destroyed
	Removal        Removal     // how the bytes were destroyed; zero if they were not
}

// Manifest reports whether the record is a producer's manifest.
func (e Entry) Manifest() bool { return e.Class == ClassManifest }

// LeafOf returns the leaf of the record.
func (e Entry) LeafOf() Leaf {
	return Leaf{
		Class: e.Class, ID: e.ID, Producer: e.Producer, Sequence: e.Sequence, Run: e.Run,
		Kind: e.Kind, Time: e.Time, Hash: e.Hash, Finding: e.Finding,
	}
}

// entries yields the records after a leaf, page by page. where is a condition on l, a row of
// leaves, whose first parameter is ?4.
func (s *source) entries(ctx context.Context, after int64, where string, args ...any) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for {
			page, err := s.page(ctx, after, where, args...)
			if err != nil {
				yield(Entry{}, err)
				return
			}
			for _, e := range page {
				if !yield(e, nil) {
					return
				}
				after = e.Leaf
			}
			if len(page) == 0 {
				return
			}
		}
	}
}

// page reads the next records after a leaf. args are the parameters of where, from ?4.
func (s *source) page(ctx context.Context, after int64, where string, args ...any) (page []Entry, err error) {
	query := `SELECT l.leaf, l.class, l.finding, l.id, pr.name, l.sequence, r.name, l.kind, l.stream, l.stored, l.hash, ` +
		`l.time, l.epoch, x.word, x.ordered, p.bytes, p.cut, b.content FROM leaves l LEFT JOIN payloads p ON p.leaf = l.leaf
		LEFT JOIN erased x ON x.leaf = l.leaf LEFT JOIN blobs b ON b.blob = p.blob LEFT JOIN producers pr ON pr.producer = l.producer
		LEFT JOIN runs r ON r.run = l.run WHERE l.leaf > ?1` + where + ` ORDER BY l.leaf LIMIT ?2`
	err = s.view(ctx, func(conn *sqlite.Conn) (err error) {
		stmt, err := conn.Prepare(query)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stmt.Reset()) }()
		stmt.BindInt64(1, after)
		stmt.BindInt64(2, entriesPerPage)
		for i, a := range args {
			switch a := a.(type) {
			case string:
				stmt.BindText(4+i, a)
			case int64:
				stmt.BindInt64(4+i, a)
			}
		}
		for size := 0; size < bytesPerPage; {
			row, err := stmt.Step()
			if err != nil || !row {
				return err
			}
			e, err := scanEntry(stmt)
			if err != nil {
				return fmt.Errorf("leaf %d: %w", e.Leaf, err)
			}
			page = append(page, e)
			size += len(e.Bytes)
		}
		return nil
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
