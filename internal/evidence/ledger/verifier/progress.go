package verifier

import (
	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
)

// leavesPerProgress is how many leaves a verification goes over before it tells
// again how far it is.
const leavesPerProgress = 1 << 12

// expected returns how many leaves the newest checkpoint says that there are: for
// the bar alone, nobody relies on it.
func expected(conn *sqlite.Conn) (int64, error) {
	return sqlitetx.Int(conn, "SELECT size FROM checkpoints ORDER BY checkpoint DESC LIMIT 1")
}

// progress tells how far the walk is.
func (w *walk) progress() {
	if w.opts.Progress != nil && (w.tree.size%leavesPerProgress == 0 || w.tree.size == w.expected) {
		w.opts.Progress(w.tree.size, w.expected)
	}
}
