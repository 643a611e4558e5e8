package policy

import (
	"fmt"
	"path"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy/shell"
)

// Mode selects how a rule is interpreted. The package documentation compares the modes.
type Mode string

// The modes. An empty Mode means Strict.
const (
	Strict Mode = "strict"
	Compat Mode = "compat"
)

// Options contains settings that all policies share. The zero Options select the strict mode.
type Options struct {
	Mode Mode
	// Root is the absolute directory to which relative paths refer. Empty means Meta.TeamRoot.
	Root string
	// Undetermined is the verdict on a command whose text is only known when it runs, such as
	// "$(cat x)". It is ask, deny or none. Empty means ask.
	Undetermined events.Verdict
	// ShellTools and WriteTools are the names of other tools that run shell commands or write files.
	ShellTools []string
	WriteTools []string

	last *lastCall // shared by the policies of a set
}

func (o Options) validate() error {
	if o.Mode != "" && o.Mode != Strict && o.Mode != Compat {
		return fmt.Errorf("mode %q: neither %q nor %q", o.Mode, Strict, Compat)
	}
	switch o.Undetermined {
	case "", events.VerdictAsk, events.VerdictDeny, events.VerdictNone:
	case events.VerdictAllow:
		return fmt.Errorf("undetermined %q: an unknown command is not safe", o.Undetermined)
	default:
		return fmt.Errorf("undetermined %q: not ask, deny or none", o.Undetermined)
	}
	if o.Root != "" && !path.IsAbs(slashed(o.Root)) {
		return fmt.Errorf("root %q: not absolute", o.Root)
	}
	return nil
}

func (o Options) compat() bool { return o.Mode == Compat }

func (o Options) root(meta hooks.Meta) string {
	root := o.Root
	if root == "" {
		root = meta.TeamRoot
	}
	if root = slashed(root); !path.IsAbs(root) || len(root) > shell.MaxPath {
		return ""
	}
	return path.Clean(root)
}

func (o Options) undetermined() events.Verdict {
	if o.Undetermined == "" {
		return events.VerdictAsk
	}
	return o.Undetermined
}

func (o Options) doubtful(reason string) *hooks.ToolDecision {
	if o.undetermined() == events.VerdictNone {
		return nil
	}
	return &hooks.ToolDecision{Verdict: o.undetermined(), Reason: reason}
}
