package hooks

import "fmt"

// Use registers what provider has of the methods of provider.go, each with the
// options, and returns the ids in the order of the documentation; a [Registrar]
// registers itself. A provider
// with none of them is an error, and so is an option that makes no sense at one
// of its points; then nothing is registered.
func (r *Registry) Use(provider any, opts ...Option) ([]ID, error) {
	if p, ok := provider.(Registrar); ok {
		return p.Register(r, opts...)
	}
	var defaults []Option
	if p, ok := provider.(Named); ok {
		defaults = append(defaults, Name(p.Name()))
	}
	if p, ok := provider.(Enabler); ok {
		defaults = append(defaults, Enabled(p.IsEnabled))
	}
	opts = append(defaults, opts...)
	var ids []ID
	for _, add := range r.offers(provider) {
		id, err := add(opts)
		if err != nil {
			for _, id := range ids {
				r.Off(id)
			}
			return nil, fmt.Errorf("use %T: %w", provider, err)
		}
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("use %T: no method of a hook point", provider)
	}
	return ids, nil
}

// registration registers one hook.
type registration = func(opts []Option) (ID, error)

// offers returns what registers each hook that provider has.
func (r *Registry) offers(provider any) []registration {
	return append(r.decisionsOf(provider), r.reportsOf(provider)...)
}

// decisionsOf returns the decisions and transforms among them.
func (r *Registry) decisionsOf(provider any) []registration {
	var list []registration
	if p, ok := provider.(PreToolUser); ok {
		list = append(list, ToolBefore.adding(r, p.PreToolUse))
	}
	if p, ok := provider.(PromptSubmitter); ok {
		list = append(list, PromptSubmit.adding(r, p.PromptSubmitted))
	}
	if p, ok := provider.(SessionStarter); ok {
		list = append(list, SessionStart.adding(r, p.SessionStart))
	}
	if p, ok := provider.(SubagentStarter); ok {
		list = append(list, SubagentStart.adding(r, p.SubagentStart))
	}
	if p, ok := provider.(PreCompacter); ok {
		list = append(list, CompactBefore.adding(r, p.PreCompact))
	}
	if p, ok := provider.(ErrorHandler); ok {
		list = append(list, Error.adding(r, p.ErrorOccurred))
	}
	if p, ok := provider.(PostToolUser); ok {
		list = append(list, ToolResult.adding(r, p.PostToolUse))
	}
	return list
}

// reportsOf returns the notifications among them.
func (r *Registry) reportsOf(provider any) []registration {
	var list []registration
	if p, ok := provider.(RunStarter); ok {
		list = append(list, RunStarted.adding(r, p.RunStart))
	}
	if p, ok := provider.(StepFollower); ok {
		list = append(list, StepFinished.adding(r, p.AfterStep))
	}
	if p, ok := provider.(RunEnder); ok {
		list = append(list, RunFinished.adding(r, p.RunEnd))
	}
	if p, ok := provider.(SessionEnder); ok {
		list = append(list, SessionEnded.adding(r, p.SessionEnd))
	}
	if p, ok := provider.(SubagentStopper); ok {
		list = append(list, SubagentStopped.adding(r, p.SubagentStop))
	}
	return list
}
