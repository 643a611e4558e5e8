package writer

import (
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
)

// load reads the state from the file and compares it with what was signed.
func (l *Ledger) load() error {
	s := state{producers: make(map[string]*producer), runs: make(map[string]int64)}
	if err := l.loadKeys(&s); err != nil {
		return err
	}
	if err := l.loadCheckpoint(&s); err != nil {
		return err
	}
	leaves, err := sqlitetx.Int(l.conn, "SELECT coalesce(max(leaf), -1) + 1 FROM leaves")
	if err != nil {
		return err
	}
	again, err := sqlitetx.Int(l.conn, "SELECT coalesce(max(seen), 0) FROM seen")
	if err != nil {
		return err
	}
	if leaves != s.newest.Size || leaves+again != s.newest.Arrivals {
		return fmt.Errorf("%w: it has %d leaves and %d seen again, signed are %d and %d",
			ledger.ErrDamaged, leaves, again, s.newest.Size, s.newest.Arrivals-s.newest.Size)
	}
	if err := l.loadTree(&s); err != nil {
		return err
	}
	s.arrivals = ledger.Arrivals{Count: s.newest.Arrivals, Digest: s.newest.Digest}
	if err := l.loadProducers(&s); err != nil {
		return err
	}
	if s.holds, err = ledger.LoadHolds(l.conn); err != nil {
		return err
	}
	l.state = s
	return nil
}

func (l *Ledger) loadCheckpoint(s *state) error {
	var number int64
	var signed string
	err := sqlitex.Execute(l.conn, "SELECT checkpoint, note FROM checkpoints ORDER BY checkpoint DESC LIMIT 1",
		&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
			number, signed = stmt.ColumnInt64(0), stmt.ColumnText(1)
			return nil
		}})
	if err != nil {
		return err
	}
	if s.newest, err = ledger.OpenCheckpoint([]byte(signed), l.opts.Key.ring.From(s.keys)); err != nil {
		return fmt.Errorf("%w: %w", ledger.ErrDamaged, err)
	}
	if s.newest.Tenant != l.tenant {
		return fmt.Errorf("%w: it is the ledger of tenant %q", ledger.ErrDamaged, s.newest.Tenant)
	}
	if s.newest.Number != number {
		return fmt.Errorf("%w: checkpoint %d lies where checkpoint %d should", ledger.ErrDamaged, s.newest.Number, number)
	}
	return nil
}

func (l *Ledger) loadTree(s *state) error {
	err := s.tree.restore(s.newest.Size, l.storedHash)
	if err != nil {
		return err
	}
	root, err := s.tree.root()
	if err != nil {
		return err
	}
	if root != s.newest.Root {
		return fmt.Errorf("%w: the root differs from the signed one", ledger.ErrDamaged)
	}
	count := tlog.StoredHashCount(s.newest.Size)
	if count%ledger.HashesPerRow > 0 {
		s.tail, err = ledger.HashRow(l.conn, count/ledger.HashesPerRow)
	}
	if err == nil && int64(len(s.tail)) != count%ledger.HashesPerRow*tlog.HashSize {
		return fmt.Errorf("%w: hashes are missing", ledger.ErrDamaged)
	}
	return err
}

// storedHash reads one of the tree's hashes.
func (l *Ledger) storedHash(index int64) (tlog.Hash, error) {
	hashes, err := ledger.StoredTree{Conn: l.conn}.ReadHashes([]int64{index})
	if err != nil {
		return tlog.Hash{}, err
	}
	return hashes[0], nil
}

func (l *Ledger) loadProducers(s *state) error {
	return sqlitex.Execute(l.conn, `SELECT name, producer, max(
		coalesce((SELECT max(sequence) FROM leaves l WHERE l.producer = p.producer), 0),
		coalesce((SELECT max(sequence) FROM seen s WHERE s.producer = p.producer), 0)) FROM producers p`,
		&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
			s.producers[stmt.ColumnText(0)] = &producer{number: stmt.ColumnInt64(1), high: stmt.ColumnInt64(2)}
			return nil
		}})
}
