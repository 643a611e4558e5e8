package writer

import (
	"zombiezen.com/go/sqlite"
)

// MaxParallel is the number of ledgers that Each writes in parallel.
const MaxParallel = maxParallel

// Conn returns the connection to the ledger's file.
func (l *Ledger) Conn() *sqlite.Conn { return l.conn }

// WithMaxPages returns o with a limit of n pages for the file.
func (o Options) WithMaxPages(n int64) Options {
	o.maxPages = n
	return o
}

// SetLimit sets how many ledgers the set may open.
func (s *Set) SetLimit(n int) { s.limit = n }

// Counts returns the numbers of ledgers in s.recent and s.open, and of acquired ones.
func (s *Set) Counts() (recent, open, acquired int) { return s.recent.Len(), len(s.open), s.acquired }

// Changed returns how many changes led to the key.
func (k *Key) Changed() int { return len(k.changes) }

// WithStep returns r with a function that is called after each step.
func (r Rotation) WithStep(step func(name string) error) Rotation {
	r.step = step
	return r
}
