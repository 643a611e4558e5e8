package agentfs

import (
	"fmt"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// volume is what the routes know of one file.
type volume struct {
	extent
	saved extent // of it, what is on disk
}

type extent struct {
	name    string
	last    int64 // the last leaf that belongs in it
	done    int64 // the last leaf that is in it, as far as known; -1 is none
	halves  int64 // of rows, as far as known: a call and its result are one row
	order   int64 // the last order that destroyed something in it; -1 is none
	cleaned int64 // the last order that it has obeyed, as far as known; -1 is none
	parts   int64 // how many files the agent has, where it has several
	told    int64 // how many of them it tells of, as far as known
	anew    bool  // what is in it is to be written anew
}

// isBehind reports whether there is something to do in the file.
func (v *volume) isBehind() bool {
	return v.done < v.last || v.cleaned < v.order || v.told < v.parts || v.anew
}

// lose notes that a file holds nothing, as far as known.
func (v *volume) lose() { v.done, v.cleaned, v.told = -1, -1, 0 }

// current returns the file that an agent's new runs go to.
func (r *routes) current(agent string) (*volume, error) {
	base := baseName(agent, r.tenant)
	for n := 1; ; n++ {
		v, err := r.volume(partName(base, n))
		if err != nil {
			return nil, err
		}
		if v.halves < 2*r.limit {
			return v, nil
		}
	}
}

// volume returns the file with that name, new or known.
func (r *routes) volume(name string) (*volume, error) {
	if v, ok := r.known[name]; ok {
		return v, nil
	}
	v := &volume{extent: extent{name: name, last: -1, done: -1, order: -1, cleaned: -1}}
	err := sqlitex.Execute(r.conn, `SELECT last, done, halves, ordered, cleaned, parts, told, anew FROM files WHERE name = ?`,
		&sqlitex.ExecOptions{
			Args: []any{name},
			ResultFunc: func(stmt *sqlite.Stmt) error {
				for i, n := range []*int64{&v.last, &v.done, &v.halves, &v.order, &v.cleaned, &v.parts, &v.told} {
					*n = stmt.ColumnInt64(i)
				}
				v.anew = stmt.ColumnBool(7)
				return nil
			},
		})
	if err != nil {
		return nil, fmt.Errorf("find file: %w", err)
	}
	v.saved = v.extent
	r.known[name] = v
	return v, nil
}

// files returns every file of the tenant, and those that other changes made.
func (r *routes) files() ([]*volume, error) {
	var names []string
	err := sqlitex.Execute(r.conn, `SELECT name FROM files ORDER BY name`, &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) error { names = append(names, stmt.ColumnText(0)); return nil },
	})
	if err != nil {
		return nil, fmt.Errorf("list files: %w", err)
	}
	all := make([]*volume, 0, len(names))
	for _, name := range names {
		v, err := r.volume(name)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// add notes that e, at leaf, belongs in v.
func (r *routes) add(v *volume, leaf int64, e events.Event) error {
	if v.last < 0 {
		if err := r.opened(v.name); err != nil {
			return err
		}
	}
	v.last = leaf
	switch e.Kind() { //nolint:exhaustive // the others are a row each
	case events.ToolBefore, events.ToolResult:
		v.halves++
	case events.BlobChunk:
	default:
		v.halves += 2
	}
	return nil
}

// opened has every file of an agent tell of a new one.
func (r *routes) opened(name string) error {
	n := parseName(name)
	for part := 1; n.part > 1 && part <= n.part; part++ {
		v, err := r.volume(partName(n.base, part))
		if err != nil {
			return err
		}
		v.parts = int64(n.part)
	}
	return nil
}

// told is what a file says of the files of its agent, in its key-value store.
type told struct {
	Part  int      `json:"part"`  // which one it is
	Parts []string `json:"parts"` // the ids of all of them
}

// partsKey is where a file tells, once its agent has several, which they are.
const partsKey = "hooktrail:parts"

// tell has f say which files its agent has. No event makes that value: like the
// root folder it has no time.
func (f *file) tell(v *volume) error {
	if v.parts <= 1 {
		return nil
	}
	n := parseName(v.name)
	value := told{Part: n.part}
	for part := range v.parts {
		value.Parts = append(value.Parts, strings.TrimSuffix(partName(n.base, int(part)+1), ".db"))
	}
	if err := f.saveParts(partsKey, parts{}); err != nil {
		return err
	}
	return f.set(partsKey, object(value), time.Unix(0, 0))
}
