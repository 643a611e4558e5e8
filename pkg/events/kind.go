package events

import "strings"

// Kind names a hook point, or a record that only Hooktrail writes.
type Kind string

// TypePrefix is the start of the CloudEvents type of Hooktrail's events, such as
// "hooktrail.tool.before".
const TypePrefix = "hooktrail."

// The kinds of hook points.
const (
	ToolBefore        Kind = "tool.before"
	PromptSubmit      Kind = "prompt.submit"
	SessionStart      Kind = "session.start"
	SubagentStart     Kind = "subagent.start"
	CompactBefore     Kind = "compact.before"
	Error             Kind = "error"
	Approval          Kind = "approval"
	StepBefore        Kind = "step.before"
	MessagesFilter    Kind = "messages.filter"
	LLMRequest        Kind = "llm.request"
	MessageCreate     Kind = "message.create"
	MessageUpdate     Kind = "message.update"
	ToolResult        Kind = "tool.result"
	ToolResultStore   Kind = "tool.result.store"
	StepOutput        Kind = "step.output"
	RunStarted        Kind = "run.started"
	StepFinished      Kind = "step.finished"
	RunFinished       Kind = "run.finished"
	SessionEnded      Kind = "session.ended"
	SubagentStopped   Kind = "subagent.stopped"
	MessageCreated    Kind = "message.created"
	MessageUpdated    Kind = "message.updated"
	ResponseCompleted Kind = "response.completed"
	CheckpointCreated Kind = "checkpoint.created"
	ModelSwitched     Kind = "model.switched"
	MemoryUpdated     Kind = "memory.updated"
)

// The kinds of records.
const (
	HookExecuted  Kind = "hook.executed"
	RunSealed     Kind = "run.sealed"
	GapRecorded   Kind = "gap.recorded"
	BlobChunk     Kind = "blob.chunk"
	IssueDecided  Kind = "issue.decided"
	IssueEdited   Kind = "issue.edited"
	AuditAccessed Kind = "audit.accessed"
	ProducerLost  Kind = "producer.lost"
	ClockTicked   Kind = "clock.ticked"
	Custom        Kind = "custom"
)

// Type returns the CloudEvents type attribute of k.
func (k Kind) Type() string { return TypePrefix + string(k) }

// KindOf returns the kind of a CloudEvents type. Types without [TypePrefix] are [Custom].
func KindOf(typ string) Kind {
	k, ok := strings.CutPrefix(typ, TypePrefix)
	if !ok || k == "" {
		return Custom
	}
	return Kind(k)
}
