package beads

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/subjects"
)

// The caller of a file's methods must hold table.mu.
type file struct {
	table  *table
	tenant string
	path   string
	logger *slog.Logger

	stamp    stamp
	sum      [sha256.Size]byte
	foreign  []foreign  // lines of other issues and programs
	problem  *FileError // first unreadable line, or nil
	resolved bool       // resolve has run since the latest interrupted export
}

type foreign struct {
	id   string // empty if not an issue
	line []byte
}

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
	if !info.Mode().IsRegular() { // reading a pipe could block
		return stamp{}, fmt.Errorf("%s is not a regular file", path)
	}
	return stamp{size: info.Size(), changed: info.ModTime().UnixNano(), exists: true}, nil
}

// File returns the path of the issues file of a tenant in the folder dir.
func File(dir, tenant string) (string, error) {
	name, err := subjects.FileName(tenant)
	if err != nil {
		return "", fmt.Errorf("workspace of tenant: %w", err)
	}
	return filepath.Join(dir, name, ".beads", "issues.jsonl"), nil
}

func (f *file) scan(ctx context.Context) error {
	if err := f.table.flush(ctx); err != nil {
		return err
	}
	if err := f.resolve(ctx); err != nil {
		return err
	}
	now, err := stampOf(f.path)
	if err != nil || (now == f.stamp && now.exists) {
		return err
	}
	content, err := os.ReadFile(f.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := f.storeEdits(ctx, content, time.Unix(0, now.changed).UTC()); err != nil {
		return err
	}
	f.stamp, f.sum = now, sha256.Sum256(content)
	return nil
}

func (f *file) storeEdits(ctx context.Context, content []byte, at time.Time) error {
	rows, err := f.table.rows(ctx, f.tenant, "")
	if err != nil {
		return err
	}
	changed := f.classify(content, rows)
	if len(changed) == 0 {
		return nil
	}
	f.table.stale[f.tenant] = true
	return f.table.db.Tx(ctx, func(conn *sqlite.Conn) error {
		for _, c := range changed {
			edits := c.row.merge(c.theirs, at)
			if c.row.marks&markErased == 0 {
				c.row.written = string(c.line)
			}
			if err := errors.Join(saveRow(conn, beadKey{f.tenant, c.theirs.ID}, *c.row), saveEdits(conn, f.tenant, edits)); err != nil {
				return err
			}
		}
		return nil
	})
}

type change struct {
	row    *row
	theirs Issue
	line   []byte
}

func (f *file) classify(content []byte, rows []row) map[string]change {
	written := make(map[string]bool, len(rows))
	byID := make(map[string]*row, len(rows))
	for n := range rows {
		written[rows[n].written] = true
		byID[rows[n].issue.ID] = &rows[n]
	}
	f.foreign, f.problem = nil, nil
	changed := make(map[string]change)
	for n, text := range bytes.Split(content, []byte{'\n'}) {
		text = bytes.TrimSuffix(text, []byte{'\r'})
		if len(bytes.TrimSpace(text)) == 0 || written[string(text)] {
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

func lineID(text []byte) (string, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil {
		return "", err
	}
	var id string
	if raw, ok := object["id"]; ok && json.Unmarshal(raw, &id) != nil {
		return "", nil //nolint:nilerr // another kind of object
	}
	return id, nil
}

func column(err error) int {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return int(max(syntax.Offset, 1))
	}
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return int(max(kind.Offset, 1))
	}
	return 1
}

// problem describes a JSON error without quoting the file.
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
