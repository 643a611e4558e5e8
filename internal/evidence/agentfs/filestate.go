package agentfs

import (
	"fmt"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/pkg/events"
)

type fileState struct {
	progress
	saved progress
}

type progress struct {
	name    string
	last    int64 // last leaf whose event belongs in the file
	done    int64 // last applied leaf, or -1
	halves  int64 // size in half rows, because a call and its result share one row
	order   int64 // last order that erased a run of the file, or -1
	cleaned int64 // last applied erasure order, or -1
	parts   int64 // number of the agent's files if it has several, or 0
	listed  int64 // number of files in the file's part list
	rebuild bool
}

func (s *fileState) isBehind() bool {
	return s.done < s.last || s.cleaned < s.order || s.listed < s.parts || s.rebuild
}

func (s *fileState) clear() { s.done, s.cleaned, s.listed = -1, -1, 0 }

func (r *routes) current(agent string) (*fileState, error) {
	base := baseName(agent, r.tenant)
	for n := 1; ; n++ {
		s, err := r.file(partName(base, n))
		if err != nil {
			return nil, err
		}
		if s.halves < 2*r.limit {
			return s, nil
		}
	}
}

func (r *routes) file(name string) (*fileState, error) {
	if s, ok := r.states[name]; ok {
		return s, nil
	}
	s := &fileState{progress: progress{name: name, last: -1, done: -1, order: -1, cleaned: -1}}
	err := sqlitex.Execute(r.conn, `SELECT last, done, halves, ordered, cleaned, parts, told, anew FROM files WHERE name = ?`,
		&sqlitex.ExecOptions{
			Args: []any{name},
			ResultFunc: func(stmt *sqlite.Stmt) error {
				for i, n := range []*int64{&s.last, &s.done, &s.halves, &s.order, &s.cleaned, &s.parts, &s.listed} {
					*n = stmt.ColumnInt64(i)
				}
				s.rebuild = stmt.ColumnBool(7)
				return nil
			},
		})
	if err != nil {
		return nil, fmt.Errorf("find file: %w", err)
	}
	s.saved = s.progress
	r.states[name] = s
	return s, nil
}

func (r *routes) files() ([]*fileState, error) {
	names, err := texts(r.conn, `SELECT name FROM files ORDER BY name`)
	if err != nil {
		return nil, fmt.Errorf("list files: %w", err)
	}
	all := make([]*fileState, 0, len(names))
	for _, name := range names {
		s, err := r.file(name)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func (r *routes) add(s *fileState, leaf int64, e events.Event) error {
	if s.last < 0 {
		if err := r.addFile(s.name); err != nil {
			return err
		}
	}
	s.last = leaf
	switch e.Kind() { //nolint:exhaustive // every other kind has a row of its own
	case events.ToolBefore, events.ToolResult:
		s.halves++
	case events.BlobChunk:
	default:
		s.halves += 2
	}
	return nil
}

func (r *routes) addFile(name string) error {
	n := parseName(name)
	for part := 1; n.part > 1 && part <= n.part; part++ {
		s, err := r.file(partName(n.base, part))
		if err != nil {
			return err
		}
		s.parts = int64(n.part)
	}
	return nil
}

type partList struct {
	Part  int      `json:"part"`
	Parts []string `json:"parts"`
}

const partsKey = "hooktrail:parts"

// The entry has the time 0, so that a rebuild gives the same bytes.
func listParts(f *file, s *fileState) error {
	if s.parts <= 1 {
		return nil
	}
	n := parseName(s.name)
	value := partList{Part: n.part}
	for part := range s.parts {
		value.Parts = append(value.Parts, strings.TrimSuffix(partName(n.base, int(part)+1), ".db"))
	}
	if err := f.values.saveSources(partsKey, sources{}); err != nil {
		return err
	}
	return f.values.set(partsKey, object(value), time.Unix(0, 0))
}
