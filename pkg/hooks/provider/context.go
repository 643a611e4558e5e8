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

// ContextOptions configures a [Context].
type ContextOptions struct {
	Dir        string // directory of the team below Meta.TeamRoot, default ".squad"
	MaxEntries int    // maximum number of history entries, default 20
	MaxBytes   int    // maximum bytes read from each file, default 64 KiB
}

// Context is a provider that gives each agent the knowledge of its team. At the start of a session,
// it adds the decisions (decisions.md), the newest entries of the agent's history
// (agents/<agent>/history.md) and the skills of its charter (skills/<skill>/SKILL.md). A standing
// instruction in a prompt, such as "always use tabs", is added to the decisions.
//
// Missing files are skipped. If Meta.TeamRoot is empty, Context does nothing. It never reads or
// writes outside of the team's directory.
type Context struct {
	opts ContextOptions
	mu   sync.Mutex // serialises additions to the decisions
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

// Name returns "context".
func (*Context) Name() string { return "context" }

// SessionStart adds the knowledge of the team to the context of the session.
func (c *Context) SessionStart(ctx context.Context, meta hooks.Meta, s hooks.Session) (*hooks.SessionDecision, error) {
	dir, err := c.open(meta)
	if dir == nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
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

func (c *Context) open(meta hooks.Meta) (*os.Root, error) {
	if meta.TeamRoot == "" {
		return nil, nil
	}
	dir, err := os.OpenRoot(filepath.Join(meta.TeamRoot, c.opts.Dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open the team's directory: %w", err)
	}
	return dir, nil
}

func (c *Context) read(dir *os.Root, name string) (string, error) {
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a pipe must not block
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
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

func joined(parts []string) string {
	var some []string
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			some = append(some, p)
		}
	}
	return strings.Join(some, "\n\n")
}
