package writer

import (
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
)

// maxCachedRuns bounds the numbers of runs that are cached.
const maxCachedRuns = 4096

// names assigns numbers to producers and runs. It owns the entries of all producers and a
// cache of the numbers of runs.
type names struct {
	conn      *sqlite.Conn
	producers map[string]*producer
	runs      map[string]int64
}

// producer is one producer of a ledger.
type producer struct {
	number int64
	high   int64 // its highest sequence so far
}

// producer returns the entry of a producer and creates it if the producer is new.
func (n *names) producer(name string) (*producer, error) {
	if name == "" {
		return &producer{}, nil
	}
	if p, ok := n.producers[name]; ok {
		return p, nil
	}
	insert := n.conn.Prep("INSERT INTO producers (producer, name) VALUES (?, ?)")
	p := &producer{number: int64(len(n.producers) + 1)}
	insert.BindInt64(1, p.number)
	insert.BindText(2, name)
	if err := sqlitetx.Run(insert); err != nil {
		return nil, fmt.Errorf("store producer: %w", err)
	}
	n.producers[name] = p
	return p, nil
}

// run returns the number of a run and assigns one if the run is new.
func (n *names) run(name string) (int64, error) {
	if name == "" {
		return 0, nil
	}
	if number, ok := n.runs[name]; ok {
		return number, nil
	}
	number, err := n.runNumber(name)
	if err != nil {
		return 0, fmt.Errorf("store run: %w", err)
	}
	if len(n.runs) >= maxCachedRuns {
		clear(n.runs)
	}
	n.runs[name] = number
	return number, nil
}

func (n *names) runNumber(name string) (int64, error) {
	find := n.conn.Prep("SELECT run FROM runs WHERE name = ?")
	find.BindText(1, name)
	found, err := find.Step()
	number := find.ColumnInt64(0)
	if err = errors.Join(err, find.Reset()); err != nil || found {
		return number, err
	}
	if number, err = sqlitetx.Int(n.conn, "SELECT coalesce(max(run), 0) + 1 FROM runs"); err != nil {
		return 0, err
	}
	insert := n.conn.Prep("INSERT INTO runs (run, name) VALUES (?, ?)")
	insert.BindInt64(1, number)
	insert.BindText(2, name)
	return number, sqlitetx.Run(insert)
}
