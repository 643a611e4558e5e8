package hooks

import (
	"context"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// A provider is anything that has one or more of the methods below; what it
// does not have stays as if it were not there. [Registry.Use] finds them.

// PreToolUser hooks into [ToolBefore].
type PreToolUser interface {
	PreToolUse(ctx context.Context, meta Meta, call ToolCall) (*Decision[ToolPatch], error)
}

// PostToolUser hooks into [ToolResult].
type PostToolUser interface {
	PostToolUse(ctx context.Context, meta Meta, done ToolDone, outcome ToolOutcome) (*ToolOutcome, error)
}

// SessionStarter hooks into [SessionStart].
type SessionStarter interface {
	SessionStart(ctx context.Context, meta Meta, session Session) (*Decision[SessionPatch], error)
}

// SessionEnder hooks into [SessionEnded].
type SessionEnder interface {
	SessionEnd(ctx context.Context, meta Meta, data events.SessionEndedData) error
}

// PromptSubmitter hooks into [PromptSubmit].
type PromptSubmitter interface {
	PromptSubmitted(ctx context.Context, meta Meta, prompt Prompt) (*Decision[PromptPatch], error)
}

// ErrorHandler hooks into [Error].
type ErrorHandler interface {
	ErrorOccurred(ctx context.Context, meta Meta, failure Failure) (*Recovery, error)
}

// PreCompacter hooks into [CompactBefore].
type PreCompacter interface {
	PreCompact(ctx context.Context, meta Meta, compaction Compaction) (*Decision[CompactionPatch], error)
}

// SubagentStarter hooks into [SubagentStart].
type SubagentStarter interface {
	SubagentStart(ctx context.Context, meta Meta, subagent Subagent) (*Decision[SubagentPatch], error)
}

// SubagentStopper hooks into [SubagentStopped].
type SubagentStopper interface {
	SubagentStop(ctx context.Context, meta Meta, data events.SubagentStoppedData) error
}

// RunStarter hooks into [RunStarted].
type RunStarter interface {
	RunStart(ctx context.Context, meta Meta, data events.RunStartedData) error
}

// StepFollower hooks into [StepFinished].
type StepFollower interface {
	AfterStep(ctx context.Context, meta Meta, data events.StepFinishedData) error
}

// RunEnder hooks into [RunFinished].
type RunEnder interface {
	RunEnd(ctx context.Context, meta Meta, data events.RunFinishedData) error
}

// Named gives the hooks of a provider its name, unless an option does.
type Named interface {
	Name() string
}

// Enabler is asked before each call of the provider's hooks whether to make it;
// see [Enabled].
type Enabler interface {
	IsEnabled(ctx context.Context, meta Meta) bool
}

// Registrar is a provider that registers itself, each of its hooks with options
// of its own, which opts come after. It registers all of them or none.
type Registrar interface {
	Register(r *Registry, opts ...Option) ([]ID, error)
}
