package verifier

import (
	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
)

// leavesPerProgress is the number of leaves between two reports of progress.
const leavesPerProgress = 1 << 12

// expected returns the size in the newest checkpoint. It is only used to show progress.
func expected(conn *sqlite.Conn) (int64, error) {
	return sqlitetx.Int(conn, "SELECT size FROM checkpoints ORDER BY checkpoint DESC LIMIT 1")
}

// progress reports how far the walk is.
func (w *walk) progress() {
	if w.v.opts.Progress != nil && (w.tree.size%leavesPerProgress == 0 || w.tree.size == w.expected) {
		w.v.opts.Progress(w.tree.size, w.expected)
	}
}
