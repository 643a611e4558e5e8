package install

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Options configure a plan.
type Options struct {
	Project string // folder of a project; if empty, the user's configuration is changed
	Home    string
	// Program is the command of the publisher, quoted for a shell. An agent runs PROGRAM hook TOOL
	// FLAGS.
	Program string
	// Hook is the command of hooktrail-hook, which starts faster than Program. It is quoted for a
	// shell, or empty. An agent runs Hook if the shell finds it, and otherwise Program.
	Hook      string
	Flags     string
	Timeout   time.Duration // how long the agent waits for a hook; at least one second
	Uninstall bool
	Getenv    func(string) string // reads environment variables; nil reads none
}

func (o *Options) failClosed() bool {
	return slices.Contains(strings.Fields(o.Flags), "--fail-closed")
}

// Change is a planned change of an agent's configuration.
type Change struct {
	Tool string
	File string
	Note string

	before, after   []byte // nil if the file does not exist
	removed, exists bool
	project         string // see Options
}

// Action says what a change does to its file, such as [Created].
type Action string

// The actions.
const (
	Unchanged Action = "unchanged"
	Created   Action = "created"
	Updated   Action = "updated"
	Removed   Action = "removed"
)

// Action returns what [Change.Apply] would do to the file, such as Created.
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

// Diff returns the change as a unified diff, which is empty if nothing changes.
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

// Plan returns the change that installs or uninstalls the hooks of an agent.
func Plan(name string, opts Options) (*Change, error) {
	t, err := named(name)
	if err != nil {
		return nil, err
	}
	if opts.Getenv == nil {
		opts.Getenv = func(string) string { return "" }
	}
	c := &Change{Tool: t.name, File: t.user(opts.Home, opts.Getenv), project: opts.Project}
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
	program, _ := firstWord(opts.Program)
	e := &editor{doc: doc, ours: oursOf(t.name, "publisher", program)}
	if opts.Uninstall {
		return c.planRemoval(t, e)
	}
	if err := e.fill(t, opts); err != nil {
		return err
	}
	c.after = e.doc.bytes()
	return nil
}

func (e *editor) fill(t *tool, opts Options) (err error) {
	if err := e.clear(t.events); err != nil {
		return err
	}
	for _, m := range t.top {
		if member(e.doc.root, m.key) != nil {
			continue
		}
		if e.doc, err = e.doc.added(e.doc.root, m.key, m.value); err != nil {
			return err
		}
	}
	for _, event := range t.events {
		if err := e.put(event, t.entry(caller{t.commandLine(opts, event), t.timeout(opts, event)})); err != nil {
			return err
		}
	}
	return nil
}

func (d *document) holdsOnly(members []setting) bool {
	if len(bytes.TrimSpace(d.data)) != d.root.EndOffset-d.root.StartOffset { // a comment around the object
		return false
	}
	all := items(d.root)
	return d.bare(d.root) || len(all) == 1 && slices.ContainsFunc(members, func(m setting) bool {
		return all[0].key == m.key && d.equal(all[0].value, m.value)
	})
}

func (c *Change) planRemoval(t *tool, e *editor) error {
	installed := e.doc.bytes()
	if err := e.clear(nil); err != nil {
		return err
	}
	c.after = e.doc.bytes()
	c.removed = !bytes.Equal(installed, c.after) && e.doc.holdsOnly(t.top)
	if c.removed {
		c.after = nil
	}
	return nil
}
