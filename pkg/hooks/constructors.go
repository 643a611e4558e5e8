package hooks

// The decisions of each decision point.
type (
	// ToolDecision answers [ToolBefore].
	ToolDecision = Decision[ToolPatch]
	// PromptDecision answers [PromptSubmit].
	PromptDecision = Decision[PromptPatch]
	// SessionDecision answers [SessionStart].
	SessionDecision = Decision[SessionPatch]
	// SubagentDecision answers [SubagentStart].
	SubagentDecision = Decision[SubagentPatch]
	// CompactionDecision answers [CompactBefore].
	CompactionDecision = Decision[CompactionPatch]
	// ApprovalDecision answers [Approval].
	ApprovalDecision = Decision[ApprovalPatch]
	// StepDecision answers [StepBefore].
	StepDecision = Decision[StepPatch]
)

// The outcomes that [Engine.Session] and [Engine.Subagent] pass to their
// functions.
type (
	// SessionOutcome is the outcome of [SessionStart].
	SessionOutcome = Outcome[Session, SessionPatch]
	// SubagentOutcome is the outcome of [SubagentStart].
	SubagentOutcome = Outcome[Subagent, SubagentPatch]
)

// NoOpinion returns nil, with which a hook leaves the decision to the others:
//
//	return hooks.NoOpinion[hooks.ToolDecision](), nil
//
// Unlike an allow it changes nothing about the outcome. It also serves the hooks
// of [Error].
func NoOpinion[D any]() *D { return nil }

// Unchanged returns nil, the answer of a transform hook that keeps the value:
//
//	return hooks.Unchanged[hooks.ToolOutcome](), nil
func Unchanged[V any]() *V { return nil }

// AllowTool allows a tool call. A later hook can still deny it.
func AllowTool() *ToolDecision { return &ToolDecision{Verdict: Allow} }

// DenyTool denies a tool call.
func DenyTool(reason string) *ToolDecision { return &ToolDecision{Verdict: Deny, Reason: reason} }

// AskTool sends a tool call to [Approval] with the reason as its prompt.
func AskTool(reason string) *ToolDecision { return &ToolDecision{Verdict: Ask, Reason: reason} }

// ModifyTool replaces the arguments of a tool call and gives no verdict.
func ModifyTool(args JSON) *ToolDecision { return &ToolDecision{Patch: &ToolPatch{Args: args}} }

// DenyPrompt denies a prompt.
func DenyPrompt(reason string) *PromptDecision {
	return &PromptDecision{Verdict: Deny, Reason: reason}
}

// ModifyPrompt replaces the text of a prompt and gives no verdict.
func ModifyPrompt(text string) *PromptDecision {
	return &PromptDecision{Patch: &PromptPatch{Prompt: &text}}
}

// ModifySession configures a session.
func ModifySession(patch SessionPatch) *SessionDecision { return &SessionDecision{Patch: &patch} }

// DenySubagent denies the start of a sub-agent.
func DenySubagent(reason string) *SubagentDecision {
	return &SubagentDecision{Verdict: Deny, Reason: reason}
}

// AskSubagent sends the start of a sub-agent to [Approval].
func AskSubagent(reason string) *SubagentDecision {
	return &SubagentDecision{Verdict: Ask, Reason: reason}
}

// ModifySubagent selects another model for a sub-agent and gives no verdict.
func ModifySubagent(model string) *SubagentDecision {
	return &SubagentDecision{Patch: &SubagentPatch{Model: model}}
}

// ModifyCompaction adds to the preserved and exported data of a compaction.
func ModifyCompaction(patch CompactionPatch) *CompactionDecision {
	return &CompactionDecision{Patch: &patch}
}

// Approve allows the call of an approval request.
func Approve() *ApprovalDecision { return &ApprovalDecision{Verdict: Allow} }

// Reject denies the call of an approval request.
func Reject(reason string) *ApprovalDecision {
	return &ApprovalDecision{Verdict: Deny, Reason: reason}
}

// DenyStep denies a step, which is then skipped.
func DenyStep(reason string) *StepDecision { return &StepDecision{Verdict: Deny, Reason: reason} }

// ModifyStep adds the members of an object to the state of a step.
func ModifyStep(state JSON) *StepDecision { return &StepDecision{Patch: &StepPatch{State: state}} }
