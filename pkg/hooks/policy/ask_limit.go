package policy

import (
	"context"
	"fmt"
	"sync"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// AskLimit is the policy maxAskUserPerSession. It limits how many questions an agent can ask its
// user in one session. A denied question does not count.
//
// In the strict mode, every tool that asks the user counts, and each tenant has separate sessions.
// In the compat mode, only the tool ask_user counts, and sessions of all tenants with the same id
// count together.
type AskLimit struct {
	limit int
	opts  Options

	mu    sync.Mutex // guards asked
	asked map[session]int
}

type session struct{ tenant, id string }

// NewAskLimit returns the policy maxAskUserPerSession. In the strict mode, a limit of 0 allows no
// questions. In the compat mode, 0 means no limit.
func NewAskLimit(limit int, opts Options) (*AskLimit, error) {
	if err := opts.validate(); err != nil {
		return nil, fmt.Errorf("maxAskUserPerSession: %w", err)
	}
	if limit < 0 {
		return nil, fmt.Errorf("maxAskUserPerSession: %d is negative", limit)
	}
	return &AskLimit{limit: limit, opts: opts, asked: map[session]int{}}, nil
}

// Name returns the name of the policy.
func (*AskLimit) Name() string { return "policy.maxAskUserPerSession" }

// PreToolUse denies a question to the user if the session has reached the limit of questions.
func (p *AskLimit) PreToolUse(_ context.Context, meta hooks.Meta, call hooks.ToolCall) (*hooks.ToolDecision, error) {
	if p.opts.compat() && (call.Tool != "ask_user" || p.limit == 0) || CanonicalTool(call.Tool) != ToolAsk {
		return nil, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	key := p.key(meta)
	if used := p.asked[key]; used >= p.limit {
		return hooks.DenyTool(fmt.Sprintf("ask_user rate limit exceeded: %d/%d calls used for this session. "+
			"The agent should proceed without user input.", used, p.limit)), nil
	}
	p.asked[key]++
	return nil, nil
}

// SessionEnd removes the number of questions in the session from memory.
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
