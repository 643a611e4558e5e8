package policy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy/shell"
)

// DefaultBlockedCommands returns the default patterns of blockedCommands.
func DefaultBlockedCommands() []string {
	return []string{"rm -rf", "git push --force", "git rebase", "git reset --hard"}
}

// Commands is the policy blockedCommands. It denies shell commands that match a pattern.
//
// Strict applies to the shell tool of every agent, and checks each program that a command would
// start. A pattern such as "git push --force" consists of a program, its first operands and its
// options. Options match in any position and in short form. Quoted text is not a command. A command
// that cannot be known before it runs gets the verdict of Options.Undetermined.
//
// Compat applies to the tools powershell, bash, shell and exec. It denies a call whose argument
// "command" or "cmd" contains a pattern.
type Commands struct {
	patterns []string
	compiled []commandPattern
	opts     Options
}

// NewCommands returns the policy blockedCommands. If patterns is nil, it uses
// [DefaultBlockedCommands], and if patterns is empty, it blocks nothing. In the strict mode, each
// pattern must be a single command, without operators such as "|" or "&&".
func NewCommands(patterns []string, opts Options) (*Commands, error) {
	if err := opts.validate(); err != nil {
		return nil, fmt.Errorf("blockedCommands: %w", err)
	}
	if patterns == nil {
		patterns = DefaultBlockedCommands()
	}
	p := &Commands{patterns: slices.Clone(patterns), opts: opts}
	for i, text := range patterns {
		if text == "" {
			return nil, fmt.Errorf("blockedCommands[%d]: empty", i)
		}
		if opts.compat() {
			continue
		}
		compiled, err := newCommandPattern(text)
		if err != nil {
			return nil, fmt.Errorf("blockedCommands[%d] %q: %w", i, text, err)
		}
		p.compiled = append(p.compiled, compiled)
	}
	return p, nil
}

// Name returns the name of the policy.
func (*Commands) Name() string { return "policy.blockedCommands" }

// PreToolUse denies blocked commands.
func (p *Commands) PreToolUse(_ context.Context, meta hooks.Meta, call hooks.ToolCall) (*hooks.ToolDecision, error) {
	if len(p.patterns) == 0 {
		return nil, nil
	}
	if p.opts.compat() {
		return p.compat(call), nil
	}
	if !p.opts.isShell(call) {
		return nil, nil
	}
	scripts, known := p.opts.scripts(meta, call)
	if d := tooLong(scripts); d != nil {
		return d, nil
	}
	var doubt shell.Doubt
	for _, a := range scripts {
		if blocked, ok := p.blocks(a.Analysis); ok {
			return p.denied(blocked), nil
		}
		if a.Dynamic() {
			doubt = a.Doubts[0]
		}
	}
	switch {
	case doubt != "":
		return p.opts.doubtful(undeterminedReason(doubt)), nil
	case !known:
		return p.opts.doubtful("Shell command needs approval: the call holds no command that can be read."), nil
	}
	return nil, nil
}

func undeterminedReason(doubt shell.Doubt) string {
	return fmt.Sprintf("Shell command needs approval: %s. A plain command without it can be judged.", doubt)
}

func (p *Commands) blocks(a *shell.Analysis) (string, bool) {
	for i, pattern := range p.compiled {
		if slices.ContainsFunc(a.Commands, pattern.matches) {
			return p.patterns[i], true
		}
	}
	return "", false
}

func (p *Commands) denied(blocked string) *hooks.ToolDecision {
	return hooks.DenyTool(fmt.Sprintf("Shell command blocked: Command contains prohibited pattern \"%s\". Blocked commands: %s",
		blocked, strings.Join(p.patterns, ", ")))
}

func (p *Commands) compat(call hooks.ToolCall) *hooks.ToolDecision {
	switch call.Tool {
	case "powershell", "bash", "shell", "exec":
	default:
		return nil
	}
	command, ok := firstTruthy(call.Args, "command", "cmd")
	if !ok {
		return nil
	}
	for _, blocked := range p.patterns {
		if strings.Contains(command, blocked) {
			return p.denied(blocked)
		}
	}
	return nil
}
