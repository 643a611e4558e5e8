package hooks

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

type (
	// SessionOutcome is the outcome of [SessionStart].
	SessionOutcome = Outcome[Session, SessionPatch]
	// SubagentOutcome is the outcome of [SubagentStart].
	SubagentOutcome = Outcome[Subagent, SubagentPatch]
)

// NoOpinion returns nil. A hook returns it to leave the decision to the other hooks:
//
//	return hooks.NoOpinion[hooks.ToolDecision](), nil
//
// Unlike Allow, it does not change the outcome. Hooks of [Error] can return it too.
func NoOpinion[D any]() *D { return nil }

// Unchanged returns nil. A transform hook returns it to keep the value:
//
//	return hooks.Unchanged[hooks.ToolOutcome](), nil
func Unchanged[V any]() *V { return nil }

// AllowTool allows a tool call, unless a later hook denies it.
func AllowTool() *ToolDecision { return &ToolDecision{Verdict: Allow} }

// DenyTool denies a tool call.
func DenyTool(reason string) *ToolDecision { return &ToolDecision{Verdict: Deny, Reason: reason} }

// AskTool requires an approval of the tool call. reason is the question for the user.
func AskTool(reason string) *ToolDecision { return &ToolDecision{Verdict: Ask, Reason: reason} }

// ModifyTool replaces the arguments of a tool call and leaves the verdict to other hooks.
func ModifyTool(args JSON) *ToolDecision { return &ToolDecision{Patch: &ToolPatch{Args: args}} }

// DenyPrompt denies a prompt.
func DenyPrompt(reason string) *PromptDecision {
	return &PromptDecision{Verdict: Deny, Reason: reason}
}

// ModifyPrompt replaces the text of a prompt. It has no verdict.
func ModifyPrompt(text string) *PromptDecision {
	return &PromptDecision{Patch: &PromptPatch{Prompt: &text}}
}

// ModifySession changes the configuration of a session.
func ModifySession(patch SessionPatch) *SessionDecision { return &SessionDecision{Patch: &patch} }

// DenySubagent denies the start of a sub-agent.
func DenySubagent(reason string) *SubagentDecision {
	return &SubagentDecision{Verdict: Deny, Reason: reason}
}

// AskSubagent requires that a hook of [Approval] allows the sub-agent.
func AskSubagent(reason string) *SubagentDecision {
	return &SubagentDecision{Verdict: Ask, Reason: reason}
}

// ModifySubagent selects another model for a sub-agent. It has no verdict.
func ModifySubagent(model string) *SubagentDecision {
	return &SubagentDecision{Patch: &SubagentPatch{Model: model}}
}

// ModifyCompaction adds data that a compaction preserves or exports.
func ModifyCompaction(patch CompactionPatch) *CompactionDecision {
	return &CompactionDecision{Patch: &patch}
}

// Approve allows the tool call for which approval was requested.
func Approve() *ApprovalDecision { return &ApprovalDecision{Verdict: Allow} }

// Reject denies the tool call for which approval was requested.
func Reject(reason string) *ApprovalDecision {
	return &ApprovalDecision{Verdict: Deny, Reason: reason}
}

// DenyStep denies a step, which is then skipped.
func DenyStep(reason string) *StepDecision { return &StepDecision{Verdict: Deny, Reason: reason} }

// ModifyStep adds the members of a JSON object to the state of a step.
func ModifyStep(state JSON) *StepDecision { return &StepDecision{Patch: &StepPatch{State: state}} }
