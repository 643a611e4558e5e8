package writer

import (
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
)

const maxCachedRuns = 4096

type names struct {
	conn      *sqlite.Conn
	producers map[string]*producer
	runs      map[string]int64
}

type producer struct {
	number int64
	high   int64 // highest sequence number so far
}

func (n *names) producer(name string) (*producer, error) {
	if name == "" {
		return &producer{}, nil
	}
	if p, ok := n.producers[name]; ok {
		return p, nil
	}
	p := &producer{number: int64(len(n.producers) + 1)}
	if err := execute(n.conn, "INSERT INTO producers (producer, name) VALUES (?, ?)", p.number, name); err != nil {
		return nil, fmt.Errorf("store producer: %w", err)
	}
	n.producers[name] = p
	return p, nil
}

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
	number, err := sqlitetx.Int(n.conn, "SELECT run FROM runs WHERE name = ?", name)
	if err != nil || number > 0 {
		return number, err
	}
	if number, err = sqlitetx.Int(n.conn, "SELECT coalesce(max(run), 0) + 1 FROM runs"); err != nil {
		return 0, err
	}
	return number, execute(n.conn, "INSERT INTO runs (run, name) VALUES (?, ?)", number, name)
}
