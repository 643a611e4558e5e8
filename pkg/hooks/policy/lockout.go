package policy

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// ReviewerLockout is the policy reviewerLockout. It denies writes to an artifact by an agent that
// is locked out of it.
//
// Strict applies to the writing tools of every agent. An artifact is a path with everything inside
// of it, or a pattern with "**/". Leading folders may be missing. Compat applies to the same tools
// as [WritePaths] in compat. A path then matches if it contains the text of the artifact, or the
// reverse.
type ReviewerLockout struct {
	opts Options

	mu    sync.RWMutex // guards locks
	locks []lock
}

type lock struct {
	artifact string
	agents   []string
}

// NewReviewerLockout returns the policy reviewerLockout without any lockouts.
func NewReviewerLockout(opts Options) (*ReviewerLockout, error) {
	if err := opts.validate(); err != nil {
		return nil, fmt.Errorf("reviewerLockout: %w", err)
	}
	return &ReviewerLockout{opts: opts}, nil
}

// Lockout locks agent out of artifact, so that its writes are denied.
func (p *ReviewerLockout) Lockout(artifact, agent string) {
	if artifact == "" || agent == "" {
		return // an empty artifact would match every path
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	i := p.find(artifact)
	if i < 0 {
		p.locks = append(p.locks, lock{artifact: artifact})
		i = len(p.locks) - 1
	}
	if !slices.Contains(p.locks[i].agents, agent) {
		p.locks[i].agents = append(p.locks[i].agents, agent)
	}
}

func (p *ReviewerLockout) find(artifact string) int {
	return slices.IndexFunc(p.locks, func(l lock) bool { return l.artifact == artifact })
}

// IsLockedOut reports whether agent is locked out of artifact itself. It ignores lockouts of a
// parent directory or of a pattern.
func (p *ReviewerLockout) IsLockedOut(artifact, agent string) bool {
	return slices.Contains(p.LockedAgents(artifact), agent)
}

// ClearLockout removes all lockouts of artifact.
func (p *ReviewerLockout) ClearLockout(artifact string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.locks = slices.DeleteFunc(p.locks, func(l lock) bool { return l.artifact == artifact })
}

// LockedAgents returns the agents that are locked out of artifact, oldest lockout first.
func (p *ReviewerLockout) LockedAgents(artifact string) []string {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if i := p.find(artifact); i >= 0 {
		return slices.Clone(p.locks[i].agents)
	}
	return nil
}

// ClearAll removes all lockouts.
func (p *ReviewerLockout) ClearAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.locks = nil
}

// Name returns the name of the policy.
func (*ReviewerLockout) Name() string { return "policy.reviewerLockout" }

// PreToolUse denies a call that writes an artifact from which the agent is locked out.
func (p *ReviewerLockout) PreToolUse(_ context.Context, meta hooks.Meta, call hooks.ToolCall) (*hooks.ToolDecision, error) {
	if p.empty() {
		return nil, nil
	}
	if !p.opts.compat() && p.opts.isShell(call) {
		if scripts, _ := p.opts.scripts(meta, call); tooLong(scripts) != nil {
			return tooLong(scripts), nil
		}
	}
	artifact, locked := p.lockedBy(meta, call)
	if !locked {
		return nil, nil
	}
	return hooks.DenyTool(fmt.Sprintf("Reviewer lockout: Agent \"%s\" is locked out of artifact \"%s\". "+
		"Another reviewer must handle this artifact.", meta.Agent, artifact)), nil
}

func (p *ReviewerLockout) lockedBy(meta hooks.Meta, call hooks.ToolCall) (string, bool) {
	root := p.opts.root(meta)
	paths := p.paths(meta, call)
	p.mu.RLock()
	defer p.mu.RUnlock()
	for _, l := range p.locks {
		if !slices.Contains(l.agents, meta.Agent) {
			continue
		}
		for _, name := range paths {
			if p.belongs(name, l.artifact, root) {
				return l.artifact, true
			}
		}
	}
	return "", false
}

func (p *ReviewerLockout) empty() bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return len(p.locks) == 0
}

func (p *ReviewerLockout) paths(meta hooks.Meta, call hooks.ToolCall) []string {
	if p.opts.compat() {
		if name, ok := compatPath(call); ok {
			return []string{name}
		}
		return nil
	}
	switch {
	case p.opts.isWrite(call):
		return pathsOf(p.opts.members(call.Args))
	case p.opts.isShell(call):
		scripts, _ := p.opts.scripts(meta, call)
		paths := patchedByCommand(scripts)
		for _, s := range scripts {
			for _, file := range s.written() {
				paths = append(paths, seenFrom(file.Dir, file.Text))
			}
		}
		return paths
	}
	return nil
}

func (p *ReviewerLockout) belongs(name, artifact, root string) bool {
	if p.opts.compat() {
		return strings.Contains(name, artifact) || strings.Contains(artifact, name)
	}
	name, artifact = from(root, name), from(root, artifact)
	return name == artifact || endsIn(name, artifact) || endsIn(artifact, name) || strings.HasPrefix(name, artifact+"/") ||
		strings.Contains("/"+name, "/"+artifact+"/") || doublestar.MatchUnvalidated(artifact, name)
}

func from(root, name string) string {
	clean := strings.ToLower(path.Clean(slashed(slashes(name))))
	if rest, ok := below(clean, strings.ToLower(root)); ok {
		return rest
	}
	return clean
}

func endsIn(name, tail string) bool {
	return strings.HasSuffix(name, "/"+strings.TrimPrefix(tail, "/"))
}
