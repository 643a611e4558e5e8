package verifier

import (
	"slices"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
)

// What the connections to the file are for, which work beside each other.
const (
	walking = iota // leaves, checkpoints and all that is compared with them
	reading        // the records, see [records]
	looking        // the pages, see [pages]
	readers
)

// snapshot begins a read transaction on each connection that sees the same state
// of the ledger.
func snapshot(conns [readers]*sqlite.Conn) error {
	for range 1000 {
		for _, conn := range conns {
			if err := sqlitetx.Exec(conn, sqlitetx.BeginRead); err != nil {
				return err
			}
		}
		var states []int64
		for _, conn := range conns {
			state, err := sqlitetx.Int(conn, "SELECT max(checkpoint) FROM checkpoints")
			if err != nil {
				return err
			}
			states = append(states, state)
		}
		if len(slices.Compact(states)) == 1 {
			return nil
		}
		for _, conn := range conns {
			if err := sqlitetx.RollBack(conn); err != nil {
				return err
			}
		}
	}
	return errNoSnapshot
}
