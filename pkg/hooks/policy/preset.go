package policy

import (
	"context"
	"fmt"

	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// DestructiveCommands is the name of the preset that [NewDestructive] returns.
const DestructiveCommands = "destructive-commands"

// Presets returns the names of all presets.
func Presets() []string {
	return []string{DestructiveCommands, SecretFiles, SystemChanges, SupplyChain, AskUnlessSafe}
}

// NewPreset returns the preset with the given name.
func NewPreset(name string, opts Options) (hooks.PreToolUser, error) {
	switch name {
	case DestructiveCommands:
		return NewDestructive(opts)
	case SecretFiles:
		return NewSecretFiles(opts)
	case SystemChanges:
		return NewSystemChanges(opts)
	case SupplyChain:
		return NewSupplyChain(opts)
	case AskUnlessSafe:
		return NewAskUnlessSafe(opts)
	}
	return nil, fmt.Errorf("preset %q: not one of %v", name, Presets())
}

// Destructive is the preset destructive-commands. It denies shell commands with irreversible
// effects, which docs/hooks-policies.md lists. [Options.Mode] has no effect on it.
type Destructive struct{ opts Options }

// NewDestructive returns the policy.
func NewDestructive(opts Options) (*Destructive, error) {
	if err := opts.validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", DestructiveCommands, err)
	}
	return &Destructive{opts: opts}, nil
}

// Name returns the name of the policy.
func (*Destructive) Name() string { return "policy." + DestructiveCommands }

// PreToolUse denies destructive commands.
func (p *Destructive) PreToolUse(_ context.Context, meta hooks.Meta, call hooks.ToolCall) (*hooks.ToolDecision, error) {
	if !p.opts.isShell(call) {
		return nil, nil
	}
	scripts, known := p.opts.scripts(meta, call)
	if d := tooLong(scripts); d != nil {
		return d, nil
	}
	var doubt *hooks.ToolDecision
	for _, s := range scripts {
		d := p.judge(s)
		if d != nil && d.Verdict == hooks.Deny {
			return d, nil
		}
		if doubt == nil {
			doubt = d
		}
	}
	if doubt == nil && !known {
		doubt = p.opts.doubtful("Shell command needs approval: the call holds no command that can be read.")
	}
	return doubt, nil
}

func (p *Destructive) judge(s *script) *hooks.ToolDecision {
	switch f := destruction(s); {
	case f.what != "" && !f.unknown:
		return hooks.DenyTool("Destructive command blocked: " + f.what + ".")
	case f.what != "":
		return p.opts.doubtful("Shell command needs approval: " + f.what + ".")
	case s.Dynamic():
		return p.opts.doubtful(undeterminedReason(s.Doubts[0]))
	}
	return nil
}
