package verifier

import (
	"iter"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func (c *completeness) isKnown(producer int64, sequence uint64, hash events.Hash) bool {
	if c.found.known.IsEmpty() {
		return false
	}
	s := c.producers[producer]
	return s != nil && c.found.known.reason(numberedContent{s.name, sequence, hash}) != ""
}

func (c *completeness) readContents(s *sender, first, last uint64) (map[uint64][]events.Hash, error) {
	contents := make(map[uint64][]events.Hash)
	err := sqlitex.Execute(c.conn, `SELECT sequence, hash, epoch, stream FROM leaves
		WHERE producer = ?1 AND sequence BETWEEN ?2 AND ?3 AND class IN ('event', 'conflict')
		UNION ALL SELECT sequence, hash, epoch, stream FROM seen
		WHERE producer = ?1 AND sequence BETWEEN ?2 AND ?3 ORDER BY 1, 3, 4`,
		&sqlitex.ExecOptions{
			Args: []any{s.number, int64(first), int64(last)},
			ResultFunc: func(stmt *sqlite.Stmt) error {
				var hash events.Hash
				stmt.ColumnBytes(1, hash[:])
				c.addContent(contents, s, uint64(stmt.ColumnInt64(0)), hash)
				return nil
			},
		})
	return contents, err
}

func (c *completeness) addContent(contents map[uint64][]events.Hash, s *sender, sequence uint64, hash events.Hash) {
	s.reread++
	if !c.isKnown(s.number, sequence, hash) {
		contents[sequence] = append(contents[sequence], hash)
	}
}

func (c *completeness) exportedContents(
	leaves iter.Seq2[ledger.Leaf, error], again iter.Seq2[ledger.Repetition, error],
) func(s *sender, first, last uint64) (map[uint64][]events.Hash, error) {
	return func(s *sender, first, last uint64) (map[uint64][]events.Hash, error) {
		contents := make(map[uint64][]events.Hash)
		add := func(producer string, sequence uint64, hash events.Hash) {
			if producer == s.name && first <= sequence && sequence <= last {
				c.addContent(contents, s, sequence, hash)
			}
		}
		for l, err := range leaves {
			if err != nil {
				return nil, err
			}
			if l.Class == ledger.ClassEvent || l.Class == ledger.ClassConflict {
				add(l.Producer, l.Sequence, l.Hash)
			}
		}
		for a, err := range again {
			if err != nil {
				return nil, err
			}
			add(a.Producer, a.Sequence, a.Hash)
		}
		return contents, nil
	}
}
