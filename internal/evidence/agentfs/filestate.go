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
	saved progress // as it is on disk
}

// progress is the part of a fileState that is stored in the routes database. The fields done,
// cleaned and listed can be too high if a user replaced the file with an older copy.
type progress struct {
	name    string
	last    int64 // ledger leaf of the last event that belongs in the file
	done    int64 // last applied leaf, -1 for none
	halves  int64 // size in half rows, because a tool call and its result share one row
	order   int64 // last erasure order that erased a run in the file, -1 for none
	cleaned int64 // last applied erasure order, -1 for none
	parts   int64 // number of files that the agent has, 0 if it has only one
	listed  int64 // number of files in the file's list of the agent's files
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

// addFile updates the states for a new file with the given name. If it is not the agent's first
// file, all files of the agent must list it, so addFile sets parts in each of their states.
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
	Parts []string `json:"parts"` // ids of all files
}

const partsKey = "hooktrail:parts"

// listParts writes the list of the agent's files into f if the agent has several. The entry has
// time 0, because no event creates it and a rebuilt file must be identical.
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
