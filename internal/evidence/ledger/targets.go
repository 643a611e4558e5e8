package ledger

import (
	"fmt"
	"path"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Target contains the fields of a record that decide whether an order selects the record.
type Target struct {
	Leaf          int64
	Class         Class
	ID, Run, Kind string
	Time          string
	Stored        int64
	Removal       Removal
}

// Removable reports whether an order may destroy the payload of the record. Manifests and records
// such as orders are not removable, because they prove what was destroyed.
func (t Target) Removable() bool {
	if t.Class == ClassEvent {
		switch events.Kind(t.Kind) { //nolint:exhaustive // the few that stay
		case events.AuditAccessed, events.RunSealed, events.GapRecorded, events.ProducerLost:
			return false
		}
	}
	return t.Class != ClassManifest
}

// Covers reports whether the legal hold o protects the record t from the order erase. sameTree is
// true if the leaf numbers in the hold refer to this ledger.
//
// Leaves do not contain the user. For records after the hold, a hold on a user therefore only
// blocks orders to erase the records of the same user.
func (o Order) Covers(erase Order, t Target, sameTree bool) bool {
	s := o.Selection
	switch {
	case sameTree && o.Leaves.Has(t.Leaf):
		return true
	case s.User != "":
		return s.User == erase.Selection.User
	}
	return s.Fits(t)
}

// Fits reports whether s selects the record t. It ignores s.User, because t does not contain the
// user.
func (s OrderSelection) Fits(t Target) bool {
	if s.Run != "" && s.Run != t.Run || s.Event != "" && (s.Event != t.ID || t.Class != ClassEvent) {
		return false
	}
	if s.Kind != "" {
		if ok, err := path.Match(s.Kind, t.Kind); err != nil || !ok {
			return false
		}
	}
	return s.fitsTime(t)
}

// fitsTime compares times as text, because all of them are in UTC and have the same length.
func (s OrderSelection) fitsTime(t Target) bool {
	return (s.From.IsZero() || t.Time >= FormatTime(s.From)) && (s.To.IsZero() || t.Time != "" && t.Time < FormatTime(s.To))
}

const orderedColumns = `l.leaf, l.class, l.id, coalesce(r.name, ''), l.kind, l.time, l.stored, x.word, x.ordered
	FROM leaves l LEFT JOIN erased x ON x.leaf = l.leaf LEFT JOIN runs r ON r.run = l.run`

// EachTarget calls the given function for each leaf in the range r, in ascending order.
func EachTarget(conn *sqlite.Conn, r LeafRange, each func(Target) error) error {
	return queryOrdered(conn, " WHERE l.leaf BETWEEN ?1 AND ?2 ORDER BY l.leaf", each, r.First, r.Last)
}

func queryOrdered(conn *sqlite.Conn, where string, each func(Target) error, args ...any) error {
	return sqlitex.Execute(conn, "SELECT "+orderedColumns+where, &sqlitex.ExecOptions{
		Args: args,
		ResultFunc: func(stmt *sqlite.Stmt) (err error) {
			t := Target{
				Leaf: stmt.ColumnInt64(0), Class: Class(stmt.ColumnText(1)), ID: stmt.ColumnText(2),
				Run: stmt.ColumnText(3), Kind: stmt.ColumnText(4), Time: stmt.ColumnText(5),
				Stored: stmt.ColumnInt64(6),
			}
			if t.Removal, err = ScanRemoval(stmt, 7); err != nil {
				return fmt.Errorf("leaf %d: %w", t.Leaf, err)
			}
			return each(t)
		},
	})
}

// Resolve returns the leaf numbers, below before, of the records that s selects and whose payloads
// an order may destroy. If s selects an event, the result includes the blobs of the event.
func Resolve(conn *sqlite.Conn, s OrderSelection, before int64) (list LeafRanges, err error) {
	if s.Event != "" {
		return resolveEvent(conn, s, before)
	}
	where, args := " WHERE l.leaf < ?1", []any{before}
	if s.Run != "" {
		where, args = where+" AND l.run = (SELECT run FROM runs WHERE name = ?2)", append(args, s.Run)
	}
	err = queryOrdered(conn, where+" ORDER BY l.leaf", func(t Target) error {
		ok, err := selects(conn, s, t)
		if ok {
			list.Add(t.Leaf)
		}
		return err
	}, args...)
	return list, err
}

func selects(conn *sqlite.Conn, s OrderSelection, t Target) (bool, error) {
	if !t.Removable() || t.Removal.Done() || !s.Fits(t) {
		return false, nil
	}
	if s.User == "" {
		return true, nil
	}
	data, err := ReadPayload(conn, t.Leaf)
	if err != nil {
		return false, fmt.Errorf("payload of leaf %d: %w", t.Leaf, err)
	}
	e, err := events.Decode(data)
	return err == nil && e.User == s.User, nil
}

func resolveEvent(conn *sqlite.Conn, s OrderSelection, before int64) (list LeafRanges, err error) {
	ids := []string{s.Event}
	for i := 0; i < len(ids); i++ {
		err := queryOrdered(conn, " WHERE l.id = ?1 AND l.class = 'event' AND l.leaf < ?2", func(t Target) error {
			own := s
			own.Event = t.ID
			ok, err := selects(conn, own, t)
			if err != nil || !ok {
				return err
			}
			list = append(list, LeafRange{t.Leaf, t.Leaf})
			if i == 0 {
				ids, err = withChunks(conn, t, ids)
			}
			return err
		}, ids[i], before)
		if err != nil {
			return nil, err
		}
	}
	return list.sorted(), nil
}

func withChunks(conn *sqlite.Conn, t Target, ids []string) ([]string, error) {
	data, err := ReadPayload(conn, t.Leaf)
	if err != nil {
		return nil, fmt.Errorf("payload of leaf %d: %w", t.Leaf, err)
	}
	e, err := events.Decode(data)
	if err != nil {
		return ids, nil //nolint:nilerr // an unreadable event has no blobs
	}
	common, err := events.Payload[events.Common](e)
	if err != nil {
		return ids, nil //nolint:nilerr // the data has another form
	}
	for _, ref := range common.Blobs {
		chunks := (ref.Bytes + events.BlobChunkBytes - 1) / events.BlobChunkBytes
		for i := range min(chunks, maxBlobChunks) {
			ids = append(ids, events.ChunkID(e.Tenant, e.ID, ref.SHA256, int(i)))
		}
	}
	return ids, nil
}

// maxBlobChunks limits a blob to 8 GiB, because an event can claim any size.
const maxBlobChunks = 1 << 14
