package verifier

import (
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
)

// checkedTree shares no code with the writer, so that it finds the writer's errors.
type checkedTree struct {
	size int64
	// roots are the roots of the complete subtrees, the largest first. There is one for each 1 bit
	// of size.
	roots  []tlog.Hash
	stored *storedHashes
}

func (t *checkedTree) add(leaf []byte) (bool, error) {
	h := tlog.RecordHash(leaf)
	same, err := t.stored.next(h)
	if err != nil {
		return false, err
	}
	t.size++
	for n := t.size; n&1 == 0; n >>= 1 {
		top := len(t.roots) - 1
		h = tlog.NodeHash(t.roots[top], h)
		t.roots = t.roots[:top]
		ok, err := t.stored.next(h)
		if err != nil {
			return false, err
		}
		same = same && ok
	}
	t.roots = append(t.roots, h)
	return same, nil
}

func (t *checkedTree) root() tlog.Hash {
	if len(t.roots) == 0 {
		empty, _ := tlog.TreeHash(0, nil) // needs no hashes
		return empty
	}
	h := t.roots[len(t.roots)-1]
	for i := len(t.roots) - 2; i >= 0; i-- {
		h = tlog.NodeHash(t.roots[i], h)
	}
	return h
}

type storedHashes struct {
	stmt   *sqlite.Stmt
	row    []byte
	length int
	rows   int64
	bad    string
}

func (s *storedHashes) next(h tlog.Hash) (bool, error) {
	if len(s.row) == 0 {
		if ok, err := s.fill(); err != nil || !ok {
			return false, err
		}
	}
	if len(s.row) < tlog.HashSize {
		s.row = nil
		return false, nil
	}
	same := tlog.Hash(s.row[:tlog.HashSize]) == h
	s.row = s.row[tlog.HashSize:]
	return same, nil
}

func (s *storedHashes) fill() (bool, error) {
	ok, err := s.stmt.Step()
	if err != nil || !ok {
		return false, err
	}
	if number := s.stmt.ColumnInt64(0); number != s.rows {
		s.bad = fmt.Sprintf("hashes: row %d is where row %d should be", number, s.rows)
	}
	// Every row except the last must be full, because readers compute the place of a hash from its
	// index.
	if s.rows > 0 && s.length < ledger.HashesPerRow*tlog.HashSize {
		s.bad = fmt.Sprintf("hashes: row %d is too short", s.rows-1)
	}
	s.rows++
	s.row = sqlitetx.Bytes(s.stmt, 1)
	s.length = len(s.row)
	if s.length > ledger.HashesPerRow*tlog.HashSize {
		s.bad = fmt.Sprintf("hashes: row %d is too long", s.rows-1)
	}
	return true, nil
}

func (s *storedHashes) end() (string, error) {
	if s.bad != "" {
		return s.bad, nil
	}
	if len(s.row) > 0 {
		return "hashes: there are more than the tree has", nil
	}
	more, err := s.fill()
	if more {
		return "hashes: there are more rows than the tree has", err
	}
	return "", err
}
