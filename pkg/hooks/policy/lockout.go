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

// ReviewerLockout is the policy reviewerLockout: an agent that was locked out of
// an artifact may not write it again; another one has to.
//
// Strict: every agent's writing tools. An artifact is a path, a folder, or a
// pattern with "**/"; a path matches however much of it is given, by whole
// names. Compat: the tools of [WritePaths]; one of path and artifact contains
// the other.
type ReviewerLockout struct {
	opts Options

	mu    sync.RWMutex
	locks []lock // guarded by mu, in the order in which they came
}

// lock holds the agents that are locked out of an artifact, in their order.
type lock struct {
	artifact string
	agents   []string
}

// NewReviewerLockout returns the policy, with nobody locked out.
func NewReviewerLockout(opts Options) (*ReviewerLockout, error) {
	if err := opts.validate(); err != nil {
		return nil, fmt.Errorf("reviewerLockout: %w", err)
	}
	return &ReviewerLockout{opts: opts}, nil
}

// Lockout locks agent out of artifact. Once is enough.
func (p *ReviewerLockout) Lockout(artifact, agent string) {
	if artifact == "" || agent == "" {
		return // would be everything, or nobody
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

// find returns the index of an artifact, or -1. The caller holds mu.
func (p *ReviewerLockout) find(artifact string) int {
	return slices.IndexFunc(p.locks, func(l lock) bool { return l.artifact == artifact })
}

// IsLockedOut tells whether agent is locked out of this very artifact.
func (p *ReviewerLockout) IsLockedOut(artifact, agent string) bool {
	return slices.Contains(p.LockedAgents(artifact), agent)
}

// ClearLockout lets everybody at artifact again.
func (p *ReviewerLockout) ClearLockout(artifact string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.locks = slices.DeleteFunc(p.locks, func(l lock) bool { return l.artifact == artifact })
}

// LockedAgents returns who is locked out of artifact, in the order in which they
// were.
func (p *ReviewerLockout) LockedAgents(artifact string) []string {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if i := p.find(artifact); i >= 0 {
		return slices.Clone(p.locks[i].agents)
	}
	return nil
}

// ClearAll lets everybody at everything again.
func (p *ReviewerLockout) ClearAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.locks = nil
}

// Name is the policy's name.
func (*ReviewerLockout) Name() string { return "policy.reviewerLockout" }

// PreToolUse denies writes to what the agent is locked out of.
func (p *ReviewerLockout) PreToolUse(_ context.Context, meta hooks.Meta, call hooks.ToolCall) (*decision, error) {
	artifact, locked := p.lockedBy(meta, call)
	if !locked {
		return nil, nil //nolint:nilnil // no opinion
	}
	return deny(fmt.Sprintf("Reviewer lockout: Agent \"%s\" is locked out of artifact \"%s\". "+
		"Another reviewer must handle this artifact.", meta.Agent, artifact)), nil
}

// lockedBy returns the first artifact that keeps the agent from writing.
func (p *ReviewerLockout) lockedBy(meta hooks.Meta, call hooks.ToolCall) (string, bool) {
	root := p.opts.root(meta)
	paths := p.paths(call, root)
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

// paths returns the files that a call writes.
func (p *ReviewerLockout) paths(call hooks.ToolCall, root string) []string {
	if p.opts.compat() {
		if name, ok := compatPath(call); ok {
			return []string{name}
		}
		return nil
	}
	switch {
	case writes(call):
		return pathsOf(call.Args)
	case CanonicalTool(call.Tool) == ToolShell:
		return patchedByCommand(call.Args, root)
	}
	return nil
}

// belongs tells whether a path is the artifact, or in it.
func (p *ReviewerLockout) belongs(name, artifact, root string) bool {
	if p.opts.compat() {
		return strings.Contains(name, artifact) || strings.Contains(artifact, name)
	}
	name, artifact = from(root, name), from(root, artifact)
	return name == artifact || endsIn(name, artifact) || endsIn(artifact, name) || strings.HasPrefix(name, artifact+"/") ||
		strings.Contains("/"+name, "/"+artifact+"/") || doublestar.MatchUnvalidated(artifact, name)
}

// from returns a clean path as seen from root, in lower case: on many disks case
// does not count.
func from(root, name string) string {
	clean := strings.ToLower(path.Clean(slashed(slashes(name))))
	if rest, ok := below(clean, strings.ToLower(root)); ok {
		return rest
	}
	return clean
}

// endsIn tells whether the last names of a path are those of tail.
func endsIn(name, tail string) bool {
	return strings.HasSuffix(name, "/"+strings.TrimPrefix(tail, "/"))
}
