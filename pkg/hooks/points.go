package hooks

import "github.com/hooktrail/hooktrail/pkg/events"

// The decision points.
var (
	// ToolBefore is called before a tool runs. Its hooks can deny or change the call.
	ToolBefore *DecisionPoint[ToolCall, ToolPatch] = newDecision(events.ToolBefore, toolBeforeRules)
	// PromptSubmit is called before a model gets a prompt. Its hooks can deny or change the prompt.
	PromptSubmit *DecisionPoint[Prompt, PromptPatch] = newDecision(events.PromptSubmit, promptSubmitRules)
	// SessionStart is called when a session starts. Its hooks can configure the session, but not
	// deny it.
	SessionStart *DecisionPoint[Session, SessionPatch] = newDecision(events.SessionStart, sessionStartRules)
	// SubagentStart is called before a sub-agent starts. Its hooks decide about the sub-agent.
	SubagentStart *DecisionPoint[Subagent, SubagentPatch] = newDecision(events.SubagentStart, subagentStartRules)
	// CompactBefore is called before a compaction. Its hooks can save information that would be
	// lost.
	CompactBefore *DecisionPoint[Compaction, CompactionPatch] = newDecision(events.CompactBefore, compactBeforeRules)
	// Error is called after an error. Its hooks decide whether and how the run continues.
	Error *RecoveryPoint = &RecoveryPoint{info: infoOf(events.Error)}
	// Approval is called if a hook returned Ask for a tool call. An [Engine] treats every verdict
	// except Allow as a denial.
	Approval *DecisionPoint[ApprovalRequest, ApprovalPatch] = newDecision(events.Approval, approvalRules)
	// StepBefore is called before a step of an agent. Its hooks can deny the step or change its
	// state.
	StepBefore *DecisionPoint[Step, StepPatch] = newDecision(events.StepBefore, stepBeforeRules)
)

// The transform points.
var (
	// MessagesFilter is called with the messages for the context of a model. Its hooks can select
	// and change them.
	MessagesFilter *TransformPoint[NoSubject, []Message] = newTransform(events.MessagesFilter, historyRules[Message]())
	// LLMRequest is called before a request to a model. Its hooks can change the messages.
	LLMRequest *TransformPoint[NoSubject, []LLMMessage] = newTransform(events.LLMRequest, historyRules[LLMMessage]())
	// MessageCreate is called before a message is stored. Its hooks can change the message, a JSON
	// object.
	MessageCreate *TransformPoint[NoSubject, JSON] = newTransform(events.MessageCreate, messageCreateRules)
	// MessageUpdate is called before updates of a message are stored. The updates are a JSON
	// object, which the hooks can change.
	MessageUpdate *TransformPoint[MessageID, JSON] = newTransform(events.MessageUpdate, messageUpdateRules)
	// ToolResult is called before the agent sees the outcome of a tool call. Its hooks can change
	// the outcome.
	ToolResult *TransformPoint[ToolDone, ToolOutcome] = newTransform(events.ToolResult, toolResultRules)
	// ToolResultStore is called before the result of a tool call is stored. Its hooks can change
	// the result.
	ToolResultStore *TransformPoint[ToolCall, JSON] = newTransform(events.ToolResultStore, toolResultStoreRules)
	// StepOutput is called before the output of an agent is applied. Its hooks can change the
	// output, a JSON object.
	StepOutput *TransformPoint[StepState, JSON] = newTransform(events.StepOutput, stepOutputRules)
)

// The notification points.
var (
	// RunStarted is called after a run has begun.
	RunStarted *NotificationPoint[events.RunStartedData] = newNotification(events.RunStarted, runStartedRules)
	// StepFinished is called after a step of an agent has ended.
	StepFinished *NotificationPoint[events.StepFinishedData] = newNotification(events.StepFinished, stepFinishedRules)
	// RunFinished is called after a run has ended.
	RunFinished *NotificationPoint[events.RunFinishedData] = newNotification(events.RunFinished, runFinishedRules)
	// SessionEnded is called after a session has ended.
	SessionEnded *NotificationPoint[events.SessionEndedData] = newNotification(events.SessionEnded, sessionEndedRules)
	// SubagentStopped is called after a sub-agent has ended.
	SubagentStopped *NotificationPoint[events.SubagentStoppedData] = newNotification(events.SubagentStopped, subagentStoppedRules)
	// MessageCreated is called after a message has been stored.
	MessageCreated *NotificationPoint[events.MessageData] = newNotification(events.MessageCreated, messageRules)
	// MessageUpdated is called after a message has been changed.
	MessageUpdated *NotificationPoint[events.MessageData] = newNotification(events.MessageUpdated, messageRules)
	// ResponseCompleted is called after a model has answered.
	ResponseCompleted *NotificationPoint[events.ResponseCompletedData] = newNotification(events.ResponseCompleted, responseCompletedRules)
	// CheckpointCreated is called after a checkpoint of an agent has been created.
	CheckpointCreated *NotificationPoint[events.CheckpointCreatedData] = newNotification(events.CheckpointCreated, checkpointCreatedRules)
	// ModelSwitched is called after a run has switched to another model.
	ModelSwitched *NotificationPoint[events.ModelSwitchedData] = newNotification(events.ModelSwitched, modelSwitchedRules)
	// MemoryUpdated is called after a change in the memory of an agent.
	MemoryUpdated *NotificationPoint[events.MemoryUpdatedData] = newNotification(events.MemoryUpdated, memoryUpdatedRules)
)
