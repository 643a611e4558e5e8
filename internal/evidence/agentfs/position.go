package agentfs

import (
	"fmt"
	"strconv"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

type position struct {
	leaf int64  // -1: none
	hash string // hash of the record
}

var start = position{leaf: -1}

func positionOf(e Entry) position {
	return position{leaf: e.Leaf, hash: e.Hash.String()}
}

func loadPosition(conn *sqlite.Conn, table string) (position, error) {
	p := start
	err := sqlitex.Execute(conn, `SELECT name, value FROM `+table+` WHERE name IN ('position', 'hash')`, &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) (err error) {
			if stmt.ColumnText(0) == "hash" {
				p.hash = stmt.ColumnText(1)
				return nil
			}
			p.leaf, err = strconv.ParseInt(stmt.ColumnText(1), 10, 64)
			return err
		},
	})
	if err != nil {
		return start, fmt.Errorf("read position: %w", err)
	}
	return p, nil
}

func savePosition(conn *sqlite.Conn, table string, p position) error {
	err := execute(conn, `INSERT OR REPLACE INTO `+table+` (name, value) VALUES ('position', ?), ('hash', ?)`,
		strconv.FormatInt(p.leaf, 10), p.hash)
	if err != nil {
		return fmt.Errorf("save position: %w", err)
	}
	return nil
}

func loadNumber(conn *sqlite.Conn, table, name string) (int64, error) {
	n := int64(-1)
	err := sqlitex.Execute(conn, `SELECT value FROM `+table+` WHERE name = ?`, &sqlitex.ExecOptions{
		Args:       []any{name},
		ResultFunc: func(stmt *sqlite.Stmt) (err error) { n, err = strconv.ParseInt(stmt.ColumnText(0), 10, 64); return err },
	})
	if err != nil {
		return -1, fmt.Errorf("read %s: %w", name, err)
	}
	return n, nil
}

func saveNumber(conn *sqlite.Conn, table, name string, n int64) error {
	err := execute(conn, `INSERT OR REPLACE INTO `+table+` (name, value) VALUES (?, ?)`, name, strconv.FormatInt(n, 10))
	if err != nil {
		return fmt.Errorf("save %s: %w", name, err)
	}
	return nil
}
