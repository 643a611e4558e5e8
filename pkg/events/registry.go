package events

var registry = []struct {
	kind    Kind
	payload func() any
}{
	{ToolBefore, fresh[ToolBeforeData]},
	{PromptSubmit, fresh[PromptSubmitData]},
	{SessionStart, fresh[SessionStartData]},
	{SubagentStart, fresh[SubagentStartData]},
	{CompactBefore, fresh[CompactBeforeData]},
	{Error, fresh[ErrorData]},
	{Approval, fresh[ApprovalData]},
	{StepBefore, fresh[StepBeforeData]},
	{MessagesFilter, fresh[HistoryData]},
	{LLMRequest, fresh[HistoryData]},
	{MessageCreate, fresh[MessageData]},
	{MessageUpdate, fresh[MessageData]},
	{ToolResult, fresh[ToolResultData]},
	{ToolResultStore, fresh[ToolResultStoreData]},
	{StepOutput, fresh[StepOutputData]},
	{RunStarted, fresh[RunStartedData]},
	{StepFinished, fresh[StepFinishedData]},
	{RunFinished, fresh[RunFinishedData]},
	{SessionEnded, fresh[SessionEndedData]},
	{SubagentStopped, fresh[SubagentStoppedData]},
	{MessageCreated, fresh[MessageData]},
	{MessageUpdated, fresh[MessageData]},
	{ResponseCompleted, fresh[ResponseCompletedData]},
	{CheckpointCreated, fresh[CheckpointCreatedData]},
	{ModelSwitched, fresh[ModelSwitchedData]},
	{MemoryUpdated, fresh[MemoryUpdatedData]},
	{HookExecuted, fresh[HookExecutedData]},
	{RunSealed, fresh[RunSealedData]},
	{GapRecorded, fresh[GapRecordedData]},
	{BlobChunk, fresh[BlobChunkData]},
	{IssueDecided, fresh[IssueDecidedData]},
	{IssueEdited, fresh[IssueEditedData]},
	{AuditAccessed, fresh[AuditAccessedData]},
	{ProducerLost, fresh[ProducerLostData]},
	{ClockTicked, fresh[ClockTickedData]},
	{Custom, fresh[CustomData]},
}

func fresh[T any]() any { return new(T) }

// Kinds returns all kinds that this version knows. The kinds of hook points, such as tool.before,
// come first.
func Kinds() []Kind {
	kinds := make([]Kind, len(registry))
	for i, r := range registry {
		kinds[i] = r.kind
	}
	return kinds
}

// PayloadOf returns a pointer to an empty payload of kind k, if k is known.
func PayloadOf(k Kind) (any, bool) {
	for _, r := range registry {
		if r.kind == k {
			return r.payload(), true
		}
	}
	return nil, false
}
