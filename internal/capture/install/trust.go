package install

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

type trust struct {
	plan     func(c *Change, opts Options) ([]*Change, error)
	withdraw func(c *Change, opts Options) ([]*Change, error)
}

// PlanTrust returns changes to the agent's own files that permit the agent to run the hooks in c.
// For an uninstall, the changes withdraw this permission.
func PlanTrust(c *Change, opts Options) ([]*Change, error) {
	t, err := named(c.Tool)
	if err != nil {
		return nil, err
	}
	if opts.Getenv == nil {
		opts.Getenv = func(string) string { return "" }
	}
	plan := t.trust.plan
	if opts.Uninstall {
		plan = t.trust.withdraw
	}
	if plan == nil {
		return nil, nil
	}
	list, err := plan(c, opts)
	if err != nil {
		return nil, fmt.Errorf("trust the hooks of %s: %w", c.Tool, err)
	}
	return list, nil
}

func trustFile(tool, file string) (*Change, error) {
	c := &Change{Tool: tool, File: file}
	data, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		c.before, c.exists = data, true
	}
	c.after = c.before
	return c, nil
}

// realFolder resolves symbolic links, because agents store the real paths of trusted folders.
func realFolder(folder string) (string, error) {
	full, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(full)
}

// jsonTrust changes nothing for hooks in a user's own configuration, because agents run them
// without trust.
func jsonTrust(file func(home string, env func(string) string) string, add func(d *document, folder string) (*document, error)) trust {
	return trust{plan: func(c *Change, opts Options) ([]*Change, error) {
		if opts.Project == "" {
			return nil, nil
		}
		folder, err := realFolder(opts.Project)
		if err != nil {
			return nil, err
		}
		change, err := trustFile(c.Tool, file(opts.Home, opts.Getenv))
		if err != nil {
			return nil, err
		}
		start := change.before
		if len(bytes.TrimSpace(start)) == 0 {
			start = []byte("{}\n")
		}
		doc, err := parse(change.File, start)
		if err != nil {
			return nil, err
		}
		if kind(doc.root) != kindObject {
			return nil, doc.wrong(doc.root.StartOffset, "an object is expected here")
		}
		if doc, err = add(doc, folder); err != nil {
			return nil, err
		}
		change.after = doc.bytes()
		return []*Change{change}, nil
	}}
}

var copilotTrust = jsonTrust(below("COPILOT_HOME", ".copilot", "config.json"), func(d *document, folder string) (*document, error) {
	const key = "trustedFolders"
	list := member(d.root, key)
	if list == nil {
		return d.added(d.root, key, []string{folder})
	}
	if kind(list) != kindList {
		return nil, d.wrong(list.StartOffset, "a list is expected here")
	}
	for _, it := range items(list) {
		if kind(it.value) == kindText && literal(it.value) == folder {
			return d, nil
		}
	}
	return d.added(list, "", folder)
})

var geminiTrust = jsonTrust(below("", ".gemini", "trustedFolders.json"), func(d *document, folder string) (*document, error) {
	now := member(d.root, folder)
	switch {
	case now == nil:
		return d.added(d.root, folder, "TRUST_FOLDER")
	case kind(now) == kindText && strings.HasPrefix(literal(now), "TRUST_"):
		return d, nil
	}
	return nil, d.wrong(now.StartOffset, "the folder is marked as not trusted")
})
