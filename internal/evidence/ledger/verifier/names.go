package verifier

import (
	"fmt"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
)

type names struct {
	producers, runs         []string // by number; 0 is the empty name
	usedProducers, usedRuns []bool
}

func (v *verifier) readNames(conn *sqlite.Conn) (*names, error) {
	var n names
	var err error
	if n.producers, err = v.readTable(conn, "producer"); err != nil {
		return nil, err
	}
	if n.runs, err = v.readTable(conn, "run"); err != nil {
		return nil, err
	}
	n.usedProducers, n.usedRuns = make([]bool, len(n.producers)), make([]bool, len(n.runs))
	n.usedProducers[0], n.usedRuns[0] = true, true
	return &n, nil
}

func (v *verifier) readTable(conn *sqlite.Conn, what string) ([]string, error) {
	list := []string{""}
	var table, index multiset
	err := sqlitex.Execute(conn, fmt.Sprintf("SELECT %[1]s, name FROM %[1]ss NOT INDEXED ORDER BY %[1]s", what),
		&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
			number, name := stmt.ColumnInt64(0), stmt.ColumnText(1)
			if number != int64(len(list)) || name == "" {
				v.report.AddProblem("%s number %d is out of place", what, number)
			}
			list = append(list, name)
			table.add(sqlitetx.Bytes(stmt, 1), number)
			return nil
		}})
	if err != nil {
		return nil, err
	}
	last := ""
	err = sqlitex.Execute(conn, fmt.Sprintf("SELECT name, %[1]s FROM %[1]ss INDEXED BY sqlite_autoindex_%[1]ss_1 ORDER BY name", what),
		&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
			name := stmt.ColumnText(0)
			if name <= last {
				v.report.AddProblem("%s index: a name is out of order or there twice", what)
			}
			last = name
			index.add(sqlitetx.Bytes(stmt, 0), stmt.ColumnInt64(1))
			return nil
		}})
	if err == nil && !table.equal(&index) {
		v.report.AddProblem("the index of %ss differs from the table", what)
	}
	return list, err
}

func (n *names) producer(number int64) (string, bool) {
	return pick(n.producers, n.usedProducers, number)
}

func (n *names) run(number int64) (string, bool) { return pick(n.runs, n.usedRuns, number) }

func pick(list []string, used []bool, number int64) (string, bool) {
	if number < 0 || number >= int64(len(list)) {
		return "", false
	}
	used[number] = true
	return list[number], true
}

func (n *names) unused(v *verifier) {
	for what, used := range map[string][]bool{"producer": n.usedProducers, "run": n.usedRuns} {
		for number, ok := range used {
			if !ok {
				v.report.AddProblem("%s number %d belongs to no leaf", what, number)
			}
		}
	}
}
