package verifier

import (
	"slices"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
)

const (
	walking = iota // leaves and checkpoints
	reading        // records and indexes
	looking        // SQLite's check of the pages
	readers
)

// snapshot retries until all connections see the same checkpoint, because SQLite cannot begin
// transactions of several connections at once.
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
