package hooks

import (
	"context"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// A provider implements one or more of these interfaces. [Registry.Use] registers their methods
// as hooks.
type (
	// PreToolUser hooks into [ToolBefore].
	PreToolUser interface {
		PreToolUse(ctx context.Context, meta Meta, call ToolCall) (*ToolDecision, error)
	}
	// PostToolUser hooks into [ToolResult].
	PostToolUser interface {
		PostToolUse(ctx context.Context, meta Meta, done ToolDone, outcome ToolOutcome) (*ToolOutcome, error)
	}
	// SessionStarter hooks into [SessionStart].
	SessionStarter interface {
		SessionStart(ctx context.Context, meta Meta, session Session) (*SessionDecision, error)
	}
	// SessionEnder hooks into [SessionEnded].
	SessionEnder interface {
		SessionEnd(ctx context.Context, meta Meta, data events.SessionEndedData) error
	}
	// PromptSubmitter hooks into [PromptSubmit].
	PromptSubmitter interface {
		PromptSubmitted(ctx context.Context, meta Meta, prompt Prompt) (*PromptDecision, error)
	}
	// ErrorHandler hooks into [Error].
	ErrorHandler interface {
		ErrorOccurred(ctx context.Context, meta Meta, failure Failure) (*Recovery, error)
	}
	// PreCompacter hooks into [CompactBefore].
	PreCompacter interface {
		PreCompact(ctx context.Context, meta Meta, compaction Compaction) (*CompactionDecision, error)
	}
	// SubagentStarter hooks into [SubagentStart].
	SubagentStarter interface {
		SubagentStart(ctx context.Context, meta Meta, subagent Subagent) (*SubagentDecision, error)
	}
	// SubagentStopper hooks into [SubagentStopped].
	SubagentStopper interface {
		SubagentStop(ctx context.Context, meta Meta, data events.SubagentStoppedData) error
	}
	// RunStarter hooks into [RunStarted].
	RunStarter interface {
		RunStart(ctx context.Context, meta Meta, data events.RunStartedData) error
	}
	// StepFollower hooks into [StepFinished].
	StepFollower interface {
		AfterStep(ctx context.Context, meta Meta, data events.StepFinishedData) error
	}
	// RunEnder hooks into [RunFinished].
	RunEnder interface {
		RunEnd(ctx context.Context, meta Meta, data events.RunFinishedData) error
	}
	// Approver hooks into [Approval].
	Approver interface {
		ApprovalRequested(ctx context.Context, meta Meta, request ApprovalRequest) (*ApprovalDecision, error)
	}
	// StepPreparer hooks into [StepBefore].
	StepPreparer interface {
		BeforeStep(ctx context.Context, meta Meta, step Step) (*StepDecision, error)
	}
	// MessageFilter hooks into [MessagesFilter].
	MessageFilter interface {
		FilterMessages(ctx context.Context, meta Meta, _ NoSubject, messages []Message) (*[]Message, error)
	}
	// LLMRequestFilter hooks into [LLMRequest].
	LLMRequestFilter interface {
		FilterLLMRequest(ctx context.Context, meta Meta, _ NoSubject, messages []LLMMessage) (*[]LLMMessage, error)
	}
	// MessageCreator hooks into [MessageCreate].
	MessageCreator interface {
		BeforeCreateMessage(ctx context.Context, meta Meta, _ NoSubject, message JSON) (*JSON, error)
	}
	// MessageUpdater hooks into [MessageUpdate].
	MessageUpdater interface {
		BeforeUpdateMessage(ctx context.Context, meta Meta, id MessageID, updates JSON) (*JSON, error)
	}
	// ToolResultStorer hooks into [ToolResultStore].
	ToolResultStorer interface {
		BeforeStoreToolResult(ctx context.Context, meta Meta, call ToolCall, result JSON) (*JSON, error)
	}
	// StepOutputFilter hooks into [StepOutput].
	StepOutputFilter interface {
		FilterStepOutput(ctx context.Context, meta Meta, state StepState, output JSON) (*JSON, error)
	}
	// MessageCreateFollower hooks into [MessageCreated].
	MessageCreateFollower interface {
		AfterCreateMessage(ctx context.Context, meta Meta, data events.MessageData) error
	}
	// MessageUpdateFollower hooks into [MessageUpdated].
	MessageUpdateFollower interface {
		AfterUpdateMessage(ctx context.Context, meta Meta, data events.MessageData) error
	}
	// ResponseFollower hooks into [ResponseCompleted].
	ResponseFollower interface {
		AfterResponse(ctx context.Context, meta Meta, data events.ResponseCompletedData) error
	}
	// CheckpointFollower hooks into [CheckpointCreated].
	CheckpointFollower interface {
		AfterCheckpoint(ctx context.Context, meta Meta, data events.CheckpointCreatedData) error
	}
	// ModelFollower hooks into [ModelSwitched].
	ModelFollower interface {
		AfterModelSwitch(ctx context.Context, meta Meta, data events.ModelSwitchedData) error
	}
	// MemoryFollower hooks into [MemoryUpdated].
	MemoryFollower interface {
		AfterMemoryUpdate(ctx context.Context, meta Meta, data events.MemoryUpdatedData) error
	}
)

// Named is a provider with a name, which its hooks get too. The option [Name] takes precedence over
// this name.
type Named interface {
	Name() string
}

// Enabler is a provider that can switch off its hooks. Before each call of a hook, the registry
// calls IsEnabled, and skips the hook if it returns false.
type Enabler interface {
	IsEnabled(ctx context.Context, meta Meta) bool
}

// Registrar is a provider that registers its hooks itself. If Register fails, it must leave no
// hooks in r. It must apply opts after options of the provider, so that opts take precedence.
type Registrar interface {
	Register(r *Registry, opts ...Option) ([]ID, error)
}
