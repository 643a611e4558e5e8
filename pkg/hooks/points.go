package hooks

import "github.com/hooktrail/hooktrail/pkg/events"

// The points where hooks decide.
var (
	// ToolBefore decides on a tool call before it is made.
	ToolBefore = &DecisionPoint[ToolCall, ToolPatch]{at: at(events.ToolBefore)}
	// PromptSubmit decides on a prompt before a model sees it.
	PromptSubmit = &DecisionPoint[Prompt, PromptPatch]{at: at(events.PromptSubmit)}
	// SessionStart configures a session. Nothing can be denied there: a deny or
	// an ask is a failure of the hook.
	SessionStart = &DecisionPoint[Session, SessionPatch]{at: at(events.SessionStart)}
	// SubagentStart decides on a sub-agent before it starts.
	SubagentStart = &DecisionPoint[Subagent, SubagentPatch]{at: at(events.SubagentStart)}
	// CompactBefore saves what a compaction would lose.
	CompactBefore = &DecisionPoint[Compaction, CompactionPatch]{at: at(events.CompactBefore)}
	// Error says how to go on after an error.
	Error = &RecoveryPoint{at: at(events.Error)}
	// Approval answers what a hook has asked about a tool call.
	Approval = &DecisionPoint[ApprovalRequest, ApprovalPatch]{at: at(events.Approval)}
	// StepBefore adds to the state that an agent starts from.
	StepBefore = &DecisionPoint[Step, StepPatch]{at: at(events.StepBefore)}
)

// The points where hooks transform.
var (
	// MessagesFilter chooses and changes the messages that become the context.
	MessagesFilter = &TransformPoint[NoSubject, []Message]{at: at(events.MessagesFilter)}
	// LLMRequest changes the messages that are sent to a model.
	LLMRequest = &TransformPoint[NoSubject, []LLMMessage]{at: at(events.LLMRequest)}
	// MessageCreate changes a message, an object, before it is stored.
	MessageCreate = &TransformPoint[NoSubject, JSON]{at: at(events.MessageCreate)}
	// MessageUpdate changes the update of a message, an object, before it is stored.
	MessageUpdate = &TransformPoint[MessageID, JSON]{at: at(events.MessageUpdate)}
	// ToolResult changes how a tool call ended before the agent sees it.
	ToolResult = &TransformPoint[ToolDone, ToolOutcome]{at: at(events.ToolResult)}
	// ToolResultStore changes the result of a tool call, an object, before it is
	// stored.
	ToolResultStore = &TransformPoint[ToolCall, JSON]{at: at(events.ToolResultStore)}
	// StepOutput changes the output of an agent, an object, before it is applied.
	StepOutput = &TransformPoint[StepState, JSON]{at: at(events.StepOutput)}
)

// The points where hooks are told.
var (
	RunStarted        = &NotificationPoint[events.RunStartedData]{at: at(events.RunStarted)}
	StepFinished      = &NotificationPoint[events.StepFinishedData]{at: at(events.StepFinished)}
	RunFinished       = &NotificationPoint[events.RunFinishedData]{at: at(events.RunFinished)}
	SessionEnded      = &NotificationPoint[events.SessionEndedData]{at: at(events.SessionEnded)}
	SubagentStopped   = &NotificationPoint[events.SubagentStoppedData]{at: at(events.SubagentStopped)}
	MessageCreated    = &NotificationPoint[events.MessageData]{at: at(events.MessageCreated)}
	MessageUpdated    = &NotificationPoint[events.MessageData]{at: at(events.MessageUpdated)}
	ResponseCompleted = &NotificationPoint[events.ResponseCompletedData]{at: at(events.ResponseCompleted)}
	CheckpointCreated = &NotificationPoint[events.CheckpointCreatedData]{at: at(events.CheckpointCreated)}
	ModelSwitched     = &NotificationPoint[events.ModelSwitchedData]{at: at(events.ModelSwitched)}
	MemoryUpdated     = &NotificationPoint[events.MemoryUpdatedData]{at: at(events.MemoryUpdated)}
)
