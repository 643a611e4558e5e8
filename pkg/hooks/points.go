package hooks

import "github.com/hooktrail/hooktrail/pkg/events"

// The points where hooks decide.
var (
	// ToolBefore decides on a tool call before it is made.
	ToolBefore = newDecision(events.ToolBefore, toolBeforeRules)
	// PromptSubmit decides on a prompt before a model sees it.
	PromptSubmit = newDecision(events.PromptSubmit, promptSubmitRules)
	// SessionStart configures a session. Every hook sees it as it came. Nothing
	// can be denied: a deny or an ask is a failure of the hook.
	SessionStart = newDecision(events.SessionStart, sessionStartRules)
	// SubagentStart decides on a sub-agent before it starts.
	SubagentStart = newDecision(events.SubagentStart, subagentStartRules)
	// CompactBefore saves what a compaction would lose. Every hook sees it as it
	// came.
	CompactBefore = newDecision(events.CompactBefore, compactBeforeRules)
	// Error says how to go on after an error.
	Error = &RecoveryPoint{at: at(events.Error)}
	// Approval answers what a hook has asked about a tool call. Who dispatches
	// takes anything but an allow for a deny.
	Approval = newDecision(events.Approval, approvalRules)
	// StepBefore adds to the state that an agent starts from. Every hook sees it
	// as it came.
	StepBefore = newDecision(events.StepBefore, stepBeforeRules)
)

// The points where hooks transform.
var (
	// MessagesFilter chooses and changes the messages that become the context.
	MessagesFilter = newTransform(events.MessagesFilter, historyRules[Message]())
	// LLMRequest changes the messages that are sent to a model.
	LLMRequest = newTransform(events.LLMRequest, historyRules[LLMMessage]())
	// MessageCreate changes a message, an object, before it is stored. A hook
	// that fails prevents that.
	MessageCreate = newTransform(events.MessageCreate, messageCreateRules)
	// MessageUpdate changes the update of a message, an object, before it is
	// stored. A hook that fails prevents that.
	MessageUpdate = newTransform(events.MessageUpdate, messageUpdateRules)
	// ToolResult changes how a tool call ended before the agent sees it.
	ToolResult = newTransform(events.ToolResult, toolResultRules)
	// ToolResultStore changes the result of a tool call before it is stored. When
	// a hook fails, [RedactionFailed] is stored instead of the result.
	ToolResultStore = newTransform(events.ToolResultStore, toolResultStoreRules)
	// StepOutput changes the output of an agent, an object, before it is applied.
	StepOutput = newTransform(events.StepOutput, stepOutputRules)
)

// The points where hooks are told.
var (
	// RunStarted tells that a run has begun.
	RunStarted = newNotification(events.RunStarted, func(e *events.RunStartedData, x []Execution) { e.Executions = x }, nil)
	// StepFinished tells that a step of an agent has ended.
	StepFinished = newNotification(events.StepFinished,
		func(e *events.StepFinishedData, x []Execution) { e.Executions = x },
		func(e events.StepFinishedData) ending {
			return endedWell(e.StepStatus == events.StepCompleted, e.StepStatus == events.StepFailed)
		})
	// RunFinished tells that a run has ended.
	RunFinished = newNotification(events.RunFinished,
		func(e *events.RunFinishedData, x []Execution) { e.Executions = x },
		func(e events.RunFinishedData) ending { return endedWell(e.Success, !e.Success) })
	// SessionEnded tells that a session has ended.
	SessionEnded = newNotification(events.SessionEnded, func(e *events.SessionEndedData, x []Execution) { e.Executions = x }, nil)
	// SubagentStopped tells that a sub-agent has ended.
	SubagentStopped = newNotification(events.SubagentStopped,
		func(e *events.SubagentStoppedData, x []Execution) { e.Executions = x },
		func(e events.SubagentStoppedData) ending {
			well := e.Status == "success" || e.Status == "completed"
			return endedWell(well, !well && e.Status != "")
		})
	// MessageCreated tells that a message has been stored.
	MessageCreated = newNotification(events.MessageCreated, tellOfMessage, nil)
	// MessageUpdated tells that a message has been changed.
	MessageUpdated = newNotification(events.MessageUpdated, tellOfMessage, nil)
	// ResponseCompleted tells that a model has answered.
	ResponseCompleted = newNotification(events.ResponseCompleted, func(e *events.ResponseCompletedData, x []Execution) { e.Executions = x }, nil)
	// CheckpointCreated tells that a checkpoint has been made.
	CheckpointCreated = newNotification(events.CheckpointCreated, func(e *events.CheckpointCreatedData, x []Execution) { e.Executions = x }, nil)
	// ModelSwitched tells that another model is in use.
	ModelSwitched = newNotification(events.ModelSwitched, func(e *events.ModelSwitchedData, x []Execution) { e.Executions = x }, nil)
	// MemoryUpdated tells that an agent's memory has changed.
	MemoryUpdated = newNotification(events.MemoryUpdated, func(e *events.MemoryUpdatedData, x []Execution) { e.Executions = x }, nil)
)

func tellOfMessage(e *events.MessageData, x []Execution) { e.Executions = x }

// endedWell returns the ending that is true.
func endedWell(well, badly bool) ending {
	switch {
	case well:
		return success
	case badly:
		return failure
	}
	return unknown
}
