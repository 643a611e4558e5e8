package install

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Options say what to install where.
type Options struct {
	Project string // the folder whose agents report; empty: all of the user's
	Home    string // the user's home folder
	// Program is what the agent starts, as a shell reads it: "publisher", or a
	// quoted path. Flags follow the name of the tool.
	Program   string
	Flags     string
	Timeout   time.Duration // after which the agent gives up the hook; at least a second
	Uninstall bool
	Getenv    func(string) string // for the variables that move a tool's folder; nil: none is set
}

// Change is what becomes of a tool's configuration.
type Change struct {
	Tool string
	File string
	Note string // what is to be done besides; may be empty

	before, after   []byte // nil: no file
	removed, exists bool
}

// Action is what a change does to its file.
type Action string

// The actions.
const (
	Unchanged Action = "unchanged"
	Created   Action = "created"
	Updated   Action = "updated"
	Removed   Action = "removed"
)

// Action returns what applying c does.
func (c *Change) Action() Action {
	switch {
	case c.removed && c.exists:
		return Removed
	case c.removed || c.exists && bytes.Equal(c.before, c.after):
		return Unchanged
	case !c.exists:
		return Created
	}
	return Updated
}

// Diff returns c as a unified diff, empty if nothing changes.
func (c *Change) Diff() string {
	from, to := c.File, c.File
	if !c.exists {
		from = os.DevNull
	}
	if c.removed {
		to = os.DevNull
	}
	return unified(from, to, c.before, c.after)
}

// Plan returns what installing, or uninstalling, changes. It writes nothing.
func Plan(name string, opts Options) (*Change, error) {
	t, err := named(name)
	if err != nil {
		return nil, err
	}
	if opts.Getenv == nil {
		opts.Getenv = func(string) string { return "" }
	}
	c := &Change{Tool: t.name, File: t.user(opts.Home, opts.Getenv)}
	if opts.Project != "" {
		if info, err := os.Stat(opts.Project); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("project %s: not a folder", opts.Project)
		}
		c.File = filepath.Join(opts.Project, filepath.FromSlash(t.project))
	}
	if !opts.Uninstall {
		c.Note = t.note
	}
	c.before, err = os.ReadFile(c.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("read configuration: %w", err)
	default:
		c.exists = true
	}
	if t.plugin {
		return c, c.planPlugin(opts)
	}
	return c, c.planHooks(t, opts)
}

// planHooks changes a document of hooks.
func (c *Change) planHooks(t *tool, opts Options) error {
	start := c.before
	blank := len(bytes.TrimSpace(bytes.TrimPrefix(start, byteOrderMark))) == 0
	switch {
	case opts.Uninstall && blank:
		c.after, c.removed = c.before, !c.exists
		return nil
	case blank:
		start = []byte("{}\n")
	}
	doc, err := parse(c.File, start)
	if err != nil {
		return err
	}
	if doc.root == nil {
		return doc.wrong(len(start), "there is no object, only comments")
	}
	program, _ := firstWord(opts.Program)
	e := &editor{doc: doc, ours: oursOf(t.name, "publisher", program)}
	if opts.Uninstall {
		return c.planRemoval(t, e)
	}
	if err := e.fill(t, opts); err != nil {
		return err
	}
	c.after = e.doc.data
	return nil
}

// fill has the hooks of a tool in the document, and those alone.
func (e *editor) fill(t *tool, opts Options) (err error) {
	if err := e.clear(t.events); err != nil {
		return err
	}
	for _, m := range t.top {
		if e.doc.root.member(m.key) != nil {
			continue
		}
		if e.doc, err = e.doc.added(e.doc.root, m.key, m.value); err != nil {
			return err
		}
	}
	for _, event := range t.events {
		words := []string{opts.Program, "hook", t.name}
		if t.eventArgument {
			words = append(words, event)
		}
		if opts.Flags != "" {
			words = append(words, opts.Flags)
		}
		if err := e.put(event, t.entry(caller{strings.Join(words, " "), opts.Timeout})); err != nil {
			return err
		}
	}
	return nil
}

// planRemoval takes our hooks out, and the file away if nothing is left in it.
func (c *Change) planRemoval(t *tool, e *editor) error {
	whole := e.doc.data
	if err := e.clear(nil); err != nil {
		return err
	}
	if bytes.Equal(whole, e.doc.data) {
		c.after = whole
		return nil
	}
	rest := e.doc.root.items
	for _, m := range t.top {
		if len(rest) == 1 && rest[0].key == m.key && e.doc.same(rest[0].value, m.value) {
			rest = nil
		}
	}
	text := bytes.TrimSpace(bytes.TrimPrefix(e.doc.data, byteOrderMark))
	alone := len(text) == e.doc.root.end-e.doc.root.start // no comment around it
	if len(rest) == 0 && alone && (len(e.doc.root.items) > 0 || e.doc.bare(e.doc.root)) {
		c.removed = true
		return nil
	}
	c.after = e.doc.data
	return nil
}
