package hooks

import "github.com/hooktrail/hooktrail/pkg/events"

// The decision points.
var (
	// ToolBefore decides about a tool call before the tool runs.
	ToolBefore *DecisionPoint[ToolCall, ToolPatch] = newDecision(events.ToolBefore, toolBeforeRules)
	// PromptSubmit decides about a prompt before a model gets it.
	PromptSubmit *DecisionPoint[Prompt, PromptPatch] = newDecision(events.PromptSubmit, promptSubmitRules)
	// SessionStart configures a session. A session cannot be denied, so a hook that returns Deny or
	// Ask fails.
	SessionStart *DecisionPoint[Session, SessionPatch] = newDecision(events.SessionStart, sessionStartRules)
	// SubagentStart decides about a sub-agent before it starts.
	SubagentStart *DecisionPoint[Subagent, SubagentPatch] = newDecision(events.SubagentStart, subagentStartRules)
	// CompactBefore saves information that would be lost in a compaction.
	CompactBefore *DecisionPoint[Compaction, CompactionPatch] = newDecision(events.CompactBefore, compactBeforeRules)
	// Error decides whether and how a run continues after an error.
	Error *RecoveryPoint = &RecoveryPoint{info: infoOf(events.Error)}
	// Approval decides about a tool call for which a hook returned Ask. An [Engine] treats every
	// verdict except Allow as a denial.
	Approval *DecisionPoint[ApprovalRequest, ApprovalPatch] = newDecision(events.Approval, approvalRules)
	// StepBefore is called before a step of an agent. Its hooks can add members to the state with
	// which the step begins, or deny the step.
	StepBefore *DecisionPoint[Step, StepPatch] = newDecision(events.StepBefore, stepBeforeRules)
)

// The transform points.
var (
	// MessagesFilter selects and changes the messages that become the context of a model.
	MessagesFilter *TransformPoint[NoSubject, []Message] = newTransform(events.MessagesFilter, historyRules[Message]())
	// LLMRequest is called before a request to a model. Its hooks can change the messages.
	LLMRequest *TransformPoint[NoSubject, []LLMMessage] = newTransform(events.LLMRequest, historyRules[LLMMessage]())
	// MessageCreate changes a message, a JSON object, before it is stored.
	MessageCreate *TransformPoint[NoSubject, JSON] = newTransform(events.MessageCreate, messageCreateRules)
	// MessageUpdate changes the JSON object with the updates of a message before they are stored.
	MessageUpdate *TransformPoint[MessageID, JSON] = newTransform(events.MessageUpdate, messageUpdateRules)
	// ToolResult changes the outcome of a tool call before the agent sees it.
	ToolResult *TransformPoint[ToolDone, ToolOutcome] = newTransform(events.ToolResult, toolResultRules)
	// ToolResultStore changes the result of a tool call before it is stored.
	ToolResultStore *TransformPoint[ToolCall, JSON] = newTransform(events.ToolResultStore, toolResultStoreRules)
	// StepOutput changes the output of an agent, a JSON object, before it is
	// applied.
	StepOutput *TransformPoint[StepState, JSON] = newTransform(events.StepOutput, stepOutputRules)
)

// The notification points.
var (
	// RunStarted reports that a run has begun.
	RunStarted *NotificationPoint[events.RunStartedData] = newNotification(events.RunStarted, runStartedRules)
	// StepFinished reports that a step of an agent has ended.
	StepFinished *NotificationPoint[events.StepFinishedData] = newNotification(events.StepFinished, stepFinishedRules)
	// RunFinished reports that a run has ended.
	RunFinished *NotificationPoint[events.RunFinishedData] = newNotification(events.RunFinished, runFinishedRules)
	// SessionEnded reports that a session has ended.
	SessionEnded *NotificationPoint[events.SessionEndedData] = newNotification(events.SessionEnded, sessionEndedRules)
	// SubagentStopped reports that a sub-agent has ended.
	SubagentStopped *NotificationPoint[events.SubagentStoppedData] = newNotification(events.SubagentStopped, subagentStoppedRules)
	// MessageCreated reports that a message has been stored.
	MessageCreated *NotificationPoint[events.MessageData] = newNotification(events.MessageCreated, messageRules)
	// MessageUpdated reports that a message has been changed.
	MessageUpdated *NotificationPoint[events.MessageData] = newNotification(events.MessageUpdated, messageRules)
	// ResponseCompleted reports that a model has answered.
	ResponseCompleted *NotificationPoint[events.ResponseCompletedData] = newNotification(events.ResponseCompleted, responseCompletedRules)
	// CheckpointCreated reports a new agent checkpoint.
	CheckpointCreated *NotificationPoint[events.CheckpointCreatedData] = newNotification(events.CheckpointCreated, checkpointCreatedRules)
	// ModelSwitched reports that the run now uses another model.
	ModelSwitched *NotificationPoint[events.ModelSwitchedData] = newNotification(events.ModelSwitched, modelSwitchedRules)
	// MemoryUpdated reports a change in the memory of an agent.
	MemoryUpdated *NotificationPoint[events.MemoryUpdatedData] = newNotification(events.MemoryUpdated, memoryUpdatedRules)
)
