package policy

import (
	"context"
	"fmt"
	"sync"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// AskLimit is the policy maxAskUserPerSession: an agent may ask its user so many
// questions in a session. Only questions that the policy let pass count.
//
// Strict: every agent's tool for questions, sessions of each tenant by
// themselves. Compat: the tool ask_user, sessions by their id.
type AskLimit struct {
	limit int
	opts  Options

	mu    sync.Mutex
	asked map[session]int // guarded by mu
}

// session is whose questions are counted together.
type session struct{ tenant, id string }

// NewAskLimit returns the policy. A limit of 0 allows no question; in compat it
// does not limit.
func NewAskLimit(limit int, opts Options) (*AskLimit, error) {
	if err := opts.validate(); err != nil {
		return nil, fmt.Errorf("maxAskUserPerSession: %w", err)
	}
	if limit < 0 {
		return nil, fmt.Errorf("maxAskUserPerSession: %d is less than none", limit)
	}
	return &AskLimit{limit: limit, opts: opts, asked: map[session]int{}}, nil
}

// Name is the policy's name.
func (*AskLimit) Name() string { return "policy.maxAskUserPerSession" }

// PreToolUse denies questions beyond the limit.
func (p *AskLimit) PreToolUse(_ context.Context, meta hooks.Meta, call hooks.ToolCall) (*decision, error) {
	if p.opts.compat() && (call.Tool != "ask_user" || p.limit == 0) || CanonicalTool(call.Tool) != ToolAsk {
		return nil, nil //nolint:nilnil // no opinion
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	key := p.key(meta)
	if used := p.asked[key]; used >= p.limit {
		return deny(fmt.Sprintf("ask_user rate limit exceeded: %d/%d calls used for this session. "+
			"The agent should proceed without user input.", used, p.limit)), nil
	}
	p.asked[key]++
	return nil, nil //nolint:nilnil // no opinion
}

// SessionEnd forgets the session, whose id will not come again.
func (p *AskLimit) SessionEnd(_ context.Context, meta hooks.Meta, _ events.SessionEndedData) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.asked, p.key(meta))
	return nil
}

func (p *AskLimit) key(meta hooks.Meta) session {
	if p.opts.compat() {
		return session{id: meta.Session}
	}
	return session{tenant: meta.Tenant, id: meta.Session}
}
