package agentfs

import (
	"fmt"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// executeAll replaces sqlitex.ExecuteScript, which panics if the disk is too full for a rollback.
func executeAll(conn *sqlite.Conn, statements []string) error {
	for _, statement := range statements {
		if err := sqlitex.ExecuteTransient(conn, statement, nil); err != nil {
			return err
		}
	}
	return nil
}

func execute(conn *sqlite.Conn, query string, args ...any) error {
	return sqlitex.Execute(conn, query, &sqlitex.ExecOptions{Args: args})
}

func number(conn *sqlite.Conn, query string, args ...any) (n int64, err error) {
	err = sqlitex.Execute(conn, query, &sqlitex.ExecOptions{
		Args:       args,
		ResultFunc: func(stmt *sqlite.Stmt) error { n = stmt.ColumnInt64(0); return nil },
	})
	if err != nil {
		return 0, fmt.Errorf("look up: %w", err)
	}
	return n, nil
}

func texts(conn *sqlite.Conn, query string, args ...any) (all []string, err error) {
	err = sqlitex.Execute(conn, query, &sqlitex.ExecOptions{
		Args:       args,
		ResultFunc: func(stmt *sqlite.Stmt) error { all = append(all, stmt.ColumnText(0)); return nil },
	})
	if err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	return all, nil
}

// The last byte of prefix must not be 0xff, because prefixed adds one to it.
func prefixed(prefix string) (from, to string) {
	last := len(prefix) - 1
	return prefix, prefix[:last] + string(prefix[last]+1)
}
