package agentfs

import (
	"fmt"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// executeAll runs statements one by one. Unlike the function for scripts in sqlitex, it does not
// panic if the disk is so full that a rollback fails.
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

// number returns the number that query selects, or 0 if it selects no row.
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

// prefixed returns the range from <= s < to that contains exactly the strings with the given
// prefix. The last byte of prefix must be below 0xff.
func prefixed(prefix string) (from, to string) {
	last := len(prefix) - 1
	return prefix, prefix[:last] + string(prefix[last]+1)
}
