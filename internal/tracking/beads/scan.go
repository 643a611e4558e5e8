package beads

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/subjects"
)

// files is the place of the embedded store: a file in each workspace.
type files struct{ *Store }

// file is what is known of a workspace's file.
type file struct {
	path     string
	stamp    stamp
	sum      [sha256.Size]byte // of its content
	foreign  []foreign         // issues that are not the tracker's, as they are
	problem  *FileError        // the first place that cannot be read
	resolved bool              // what an interrupted export came to is known
}

type foreign struct {
	id   string // empty: no issue at all
	line []byte
}

// stamp tells whether a file is the one that was read.
type stamp struct {
	size    int64
	changed int64 // Unix time in nanoseconds
	exists  bool
}

func stampOf(path string) (stamp, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return stamp{}, nil
	}
	if err != nil {
		return stamp{}, err
	}
	if !info.Mode().IsRegular() { // a pipe would be read for ever
		return stamp{}, fmt.Errorf("%s is no regular file", path)
	}
	return stamp{size: info.Size(), changed: info.ModTime().UnixNano(), exists: true}, nil
}

// File returns the path of the issues of tenant below dir.
func File(dir, tenant string) (string, error) {
	name, err := subjects.FileName(tenant)
	if err != nil {
		return "", fmt.Errorf("workspace of tenant: %w", err)
	}
	return filepath.Join(dir, name, ".beads", "issues.jsonl"), nil
}

func (p files) probe(context.Context, string) error { return nil }

// look implements place.
func (p files) look(ctx context.Context, tenant string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	f, err := p.scan(ctx, tenant)
	if err != nil {
		return fmt.Errorf("read issues: %w: %w", ErrTransient, err)
	}
	if f.problem != nil {
		p.stale[tenant] = true
		return f.problem
	}
	return nil
}

// scan takes in the file of tenant as it is now. The caller holds mu.
func (s *Store) scan(ctx context.Context, tenant string) (*file, error) {
	path, err := File(s.dir, tenant)
	if err != nil {
		return nil, err
	}
	if err := s.flush(ctx); err != nil {
		return nil, err
	}
	f := s.files[tenant]
	if f == nil {
		f = &file{path: path}
		s.files[tenant] = f
	}
	if err := s.resolve(ctx, tenant, f); err != nil {
		return nil, err
	}
	now, err := stampOf(path)
	if err != nil || (now == f.stamp && now.exists) {
		return f, err
	}
	content, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := s.takeIn(ctx, tenant, f, content, time.Unix(0, now.changed).UTC()); err != nil {
		return nil, err
	}
	f.stamp, f.sum = now, sha256.Sum256(content)
	return f, nil
}

// takeIn brings what people made of a file's issues into the store.
func (s *Store) takeIn(ctx context.Context, tenant string, f *file, content []byte, at time.Time) error {
	rows, err := s.rows(ctx, tenant, "")
	if err != nil {
		return err
	}
	changed := f.sort(content, rows)
	if len(changed) == 0 {
		return nil
	}
	s.stale[tenant] = true
	return s.db.Tx(ctx, func(conn *sqlite.Conn) error {
		for _, c := range changed {
			edits := c.row.merge(c.theirs, at)
			if c.row.marks&markErased == 0 {
				c.row.written = string(c.line)
			}
			if err := errors.Join(saveRow(conn, beadKey{tenant, c.theirs.ID}, *c.row), saveEdits(conn, tenant, edits)); err != nil {
				return err
			}
		}
		return nil
	})
}

// change is a line that is not as it was written.
type change struct {
	row    *row
	theirs Issue
	line   []byte
}

// sort tells the lines of a file apart: those that nobody changed, those of
// others, those that cannot be read. It returns the rest, one for each issue.
func (f *file) sort(content []byte, rows []row) map[string]change {
	as := make(map[string]bool, len(rows))
	byID := make(map[string]*row, len(rows))
	for n := range rows {
		as[rows[n].written] = true
		byID[rows[n].issue.ID] = &rows[n]
	}
	f.foreign, f.problem = nil, nil
	changed := make(map[string]change)
	for n, text := range bytes.Split(content, []byte{'\n'}) {
		text = bytes.TrimSuffix(text, []byte{'\r'})
		if len(bytes.TrimSpace(text)) == 0 || as[string(text)] {
			continue
		}
		id, err := lineID(text)
		if r := byID[id]; err == nil && r != nil {
			c := change{row: r, line: text}
			if c.theirs, err = ParseLine(text); err == nil {
				changed[id] = c
			}
		} else if err == nil {
			f.foreign = append(f.foreign, foreign{id, bytes.Clone(text)})
		}
		if err != nil && f.problem == nil {
			f.problem = &FileError{Path: f.path, Line: n + 1, Column: column(err), Problem: problem(err)}
		}
	}
	return changed
}

// rows returns the rows of tenant by id, those that where fits.
func (s *Store) rows(ctx context.Context, tenant, where string, args ...any) (list []row, err error) {
	query := "SELECT " + rowColumns + " FROM bead WHERE tenant = ?"
	if where != "" {
		query += " AND " + where
	}
	err = s.db.Tx(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, query+" ORDER BY id", &sqlitex.ExecOptions{
			Args: append([]any{tenant}, args...),
			ResultFunc: func(stmt *sqlite.Stmt) error {
				r, err := readRow(stmt)
				list = append(list, r)
				return err
			},
		})
	})
	return list, err
}

// lineID returns the id of the object in a line, empty if it has none.
func lineID(text []byte) (string, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil {
		return "", err
	}
	var id string
	if raw, ok := object["id"]; ok && json.Unmarshal(raw, &id) != nil {
		return "", nil //nolint:nilerr // an object of another kind
	}
	return id, nil
}

// column returns where in its line an error of decoding lies.
func column(err error) int {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return int(max(syntax.Offset, 1))
	case errors.As(err, &kind):
		return int(max(kind.Offset, 1))
	}
	return 1
}

// problem says what an error of decoding is about, without the file's own text.
func problem(err error) string {
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &kind) && kind.Field != "" && (issueFields[kind.Field] || strings.Contains(kind.Field, ".")):
		return "field " + kind.Field + " is of another type"
	case errors.As(err, &kind):
		return "not an issue"
	case errors.As(err, &syntax) && strings.Contains(syntax.Error(), "unexpected end"):
		return "line ends too early"
	case errors.As(err, &syntax):
		return "not JSON"
	}
	return "value cannot be read"
}
