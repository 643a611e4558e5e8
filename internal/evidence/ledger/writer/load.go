package writer

import (
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
)

type state struct {
	newest   ledger.Checkpoint
	arrivals ledger.Arrivals
	tree     *merkleTree
	names    *names
	crowds   *crowds
	orders   *orders
}

func newState(conn *sqlite.Conn, tenant string, key *Key, scrubber *scrubber) state {
	tree := &merkleTree{conn: conn}
	return state{
		tree:   tree,
		crowds: &crowds{conn: conn},
		names:  &names{conn: conn, producers: make(map[string]*producer), runs: make(map[string]int64)},
		orders: &orders{
			conn: conn, tenant: tenant, key: key, tree: tree, payloads: payloads{conn}, scrubber: scrubber,
			replaced: key.first(tenant),
		},
	}
}

type loader struct {
	conn   *sqlite.Conn
	tenant string
	key    *Key
}

func (l loader) load(scrubber *scrubber) (state, error) {
	s := newState(l.conn, l.tenant, l.key, scrubber)
	if err := l.loadKeys(&s); err != nil {
		return state{}, err
	}
	if err := l.loadCheckpoint(&s); err != nil {
		return state{}, err
	}
	leaves, err := sqlitetx.Int(l.conn, "SELECT coalesce(max(leaf), -1) + 1 FROM leaves")
	if err != nil {
		return state{}, err
	}
	again, err := sqlitetx.Int(l.conn, "SELECT coalesce(max(seen), 0) FROM seen")
	if err != nil {
		return state{}, err
	}
	if leaves != s.newest.Size || leaves+again != s.newest.Arrivals {
		return state{}, fmt.Errorf("%w: file has %d leaves and %d repetitions, the checkpoint signs %d and %d",
			ledger.ErrDamaged, leaves, again, s.newest.Size, s.newest.Arrivals-s.newest.Size)
	}
	if err := l.loadTree(&s); err != nil {
		return state{}, err
	}
	s.arrivals = ledger.Arrivals{Count: s.newest.Arrivals, Digest: s.newest.Digest}
	if err := l.loadProducers(&s); err != nil {
		return state{}, err
	}
	if s.orders.rules, err = ledger.LoadRules(l.conn); err != nil {
		return state{}, err
	}
	s.orders.holds, err = ledger.LoadHolds(l.conn)
	return s, err
}

func (l loader) loadCheckpoint(s *state) error {
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
	if s.newest, err = ledger.OpenCheckpoint([]byte(signed), l.key.ring.From(s.orders.replaced)); err != nil {
		return fmt.Errorf("%w: %w", ledger.ErrDamaged, err)
	}
	if s.newest.Tenant != l.tenant {
		return fmt.Errorf("%w: it is the ledger of tenant %q", ledger.ErrDamaged, s.newest.Tenant)
	}
	if s.newest.Number != number {
		return fmt.Errorf("%w: found checkpoint %d instead of checkpoint %d", ledger.ErrDamaged, s.newest.Number, number)
	}
	return nil
}

func (l loader) loadTree(s *state) error {
	err := s.tree.edge.restore(s.newest.Size, s.tree.storedHash)
	if err != nil {
		return err
	}
	root, err := s.tree.edge.root()
	if err != nil {
		return err
	}
	if root != s.newest.Root {
		return fmt.Errorf("%w: the root differs from the signed one", ledger.ErrDamaged)
	}
	count := tlog.StoredHashCount(s.newest.Size)
	s.tree.stored = count
	if count%ledger.HashesPerRow > 0 {
		s.tree.tail, err = ledger.HashRow(l.conn, count/ledger.HashesPerRow)
	}
	if err == nil && int64(len(s.tree.tail)) != count%ledger.HashesPerRow*tlog.HashSize {
		return fmt.Errorf("%w: hashes are missing", ledger.ErrDamaged)
	}
	return err
}

func (l loader) loadProducers(s *state) error {
	return sqlitex.Execute(l.conn, `SELECT name, producer, max(
		coalesce((SELECT max(sequence) FROM leaves l WHERE l.producer = p.producer), 0),
		coalesce((SELECT max(sequence) FROM seen s WHERE s.producer = p.producer), 0)) FROM producers p`,
		&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
			s.names.producers[stmt.ColumnText(0)] = &producer{number: stmt.ColumnInt64(1), high: stmt.ColumnInt64(2)}
			return nil
		}})
}

func (l loader) loadKeys(s *state) error {
	s.orders.replaced = l.key.first(l.tenant)
	leaves, err := sqlitetx.Ints(l.conn, "SELECT leaf FROM orders WHERE action = 'key' AND effect = 'done' ORDER BY leaf")
	if err != nil {
		return err
	}
	for _, leaf := range leaves {
		o, err := ledger.ReadOrder(l.conn, leaf)
		if err != nil {
			return err
		}
		after, err := ledger.ParseKey(o.Key)
		if err != nil {
			return fmt.Errorf("%w: leaf %d: %w", ledger.ErrDamaged, leaf, err)
		}
		at := l.key.ring.Index(after, 0)
		if at < 0 {
			return foreignKey(o, leaf)
		}
		s.orders.replaced = max(s.orders.replaced, at)
	}
	return nil
}
