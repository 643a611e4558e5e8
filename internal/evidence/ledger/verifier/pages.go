package verifier

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// pages runs SQLite's quick_check in the background, to find damage that affects only lookups.
type pages struct {
	done   chan struct{}
	cancel context.CancelFunc
	damage []string
	err    error
}

func lookAtPages(ctx context.Context, conn *sqlite.Conn) *pages {
	ctx, cancel := context.WithCancel(ctx)
	conn.SetInterrupt(ctx.Done())
	p := &pages{done: make(chan struct{}), cancel: cancel}
	go func() {
		defer close(p.done)
		p.err = sqlitex.ExecuteTransient(conn, fmt.Sprintf("PRAGMA quick_check(%d)", maxProblems),
			&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
				if text := stmt.ColumnText(0); text != "ok" {
					p.damage = append(p.damage, text)
				}
				return nil
			}})
	}()
	return p
}

func (p *pages) finish(failed bool) ([]string, error) {
	if failed {
		p.cancel()
	}
	<-p.done
	p.cancel()
	if failed {
		return nil, nil
	}
	return p.damage, p.err
}
