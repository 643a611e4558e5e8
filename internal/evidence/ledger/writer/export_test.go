package writer

import (
	"golang.org/x/mod/sumdb/note"
	"zombiezen.com/go/sqlite"
)

// MaxParallel is how many ledgers are written beside each other.
const MaxParallel = maxParallel

// Conn returns the connection to the ledger's file.
func (l *Ledger) Conn() *sqlite.Conn { return l.conn }

// WithMaxPages returns o for a file that may have n pages.
func (o Options) WithMaxPages(n int64) Options {
	o.maxPages = n
	return o
}

// SetLimit makes n how many ledgers the set keeps open.
func (s *Set) SetLimit(n int) { s.limit = n }

// Counts returns how many ledgers are open, by both of its lists, and how many of
// them are lent.
func (s *Set) Counts() (recent, open, lent int) { return s.recent.Len(), len(s.open), s.lent }

// Signer returns the private half.
func (k *Key) Signer() note.Signer { return k.signer }

// Changed returns how many changes have led to the key.
func (k *Key) Changed() int { return len(k.changes) }

// WithStep returns r with what is called behind each of its steps.
func (r Rotation) WithStep(step func(name string) error) Rotation {
	r.step = step
	return r
}
