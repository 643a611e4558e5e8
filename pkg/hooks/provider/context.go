package provider

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// ContextOptions say where a team keeps what it knows.
type ContextOptions struct {
	Dir        string // below Meta.TeamRoot; ".squad" by default
	MaxEntries int    // of an agent's history; 20 by default
	MaxBytes   int    // of each file that is read; 64 KiB by default
}

// Context lets agents start with what their team knows, and keeps what people
// tell them. A session starts with the decisions (decisions.md), the newest
// entries of the agent's history (agents/<agent>/history.md) and the skills that
// its charter calls for (skills/<skill>/SKILL.md). A standing order in a prompt,
// such as "always use tabs", becomes a decision.
//
// What is not there is left out, and so is everything where Meta.TeamRoot is
// empty. Nothing outside of the directory is read or written, whatever agents are
// called and wherever links lead.
type Context struct {
	opts ContextOptions
	mu   sync.Mutex // held while decisions are added, so that none is added twice
}

// NewContext returns a Context.
func NewContext(opts ContextOptions) *Context {
	if opts.Dir == "" {
		opts.Dir = ".squad"
	}
	if opts.MaxEntries <= 0 {
		opts.MaxEntries = 20
	}
	if opts.MaxBytes <= 0 {
		opts.MaxBytes = 64 << 10
	}
	return &Context{opts: opts}
}

// Name is "context".
func (*Context) Name() string { return "context" }

// SessionStart tells the agent what its team knows.
func (c *Context) SessionStart(ctx context.Context, meta hooks.Meta, s hooks.Session) (*hooks.SessionDecision, error) {
	dir, err := c.open(meta)
	if dir == nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }() // nothing was written through it
	var parts []string
	decisions, err := c.read(dir, decisionsFile)
	if err != nil {
		return nil, err
	}
	parts = append(parts, decisions)
	if agent := strings.ToLower(meta.Agent); agent != "" && filepath.IsLocal(agent) && !strings.ContainsAny(agent, `/\`) {
		history, err := c.read(dir, filepath.Join("agents", agent, "history.md"))
		if err != nil {
			return nil, err
		}
		parts = append(parts, newest(history, c.opts.MaxEntries))
	}
	skills, err := c.skills(ctx, dir, s.Charter)
	if err != nil {
		return nil, err
	}
	text := joined(append(parts, skills...))
	if text == "" {
		return hooks.NoOpinion[hooks.SessionDecision](), nil
	}
	return &hooks.SessionDecision{Context: text}, nil
}

// open returns the team's directory, nil if there is none.
func (c *Context) open(meta hooks.Meta) (*os.Root, error) {
	if meta.TeamRoot == "" {
		return nil, nil //nolint:nilnil // no directory
	}
	dir, err := os.OpenRoot(filepath.Join(meta.TeamRoot, c.opts.Dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // no directory
	}
	if err != nil {
		return nil, fmt.Errorf("open the team's directory: %w", err)
	}
	return dir, nil
}

// read returns a text file, "" if there is none: as much of its end as is read at
// most, from the beginning of a line.
func (c *Context) read(dir *os.Root, name string) (string, error) {
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe would block
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", nil
	}
	skip := max(0, info.Size()-int64(c.opts.MaxBytes))
	text := make([]byte, info.Size()-skip)
	n, err := f.ReadAt(text, skip)
	if n < len(text) && err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	if skip > 0 {
		_, rest, _ := strings.Cut(string(text), "\n")
		return rest, nil
	}
	return string(text), nil
}

// joined returns the parts that are not empty, a blank line in between.
func joined(parts []string) string {
	var some []string
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			some = append(some, p)
		}
	}
	return strings.Join(some, "\n\n")
}
