package policy

import (
	"fmt"
	"path"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// Mode decides how a rule is interpreted. See the package documentation.
type Mode string

// Modes. The empty Mode is Strict.
const (
	Strict Mode = "strict"
	Compat Mode = "compat"
)

// Options are common options of the policies. The zero Options are strict.
type Options struct {
	Mode Mode
	// Root is the absolute directory of relative paths. If it is empty,
	// Meta.TeamRoot of the call is used.
	Root string
	// Undetermined is the verdict on a command that is unknown before it runs. It
	// is ask (the default), deny, or none.
	Undetermined events.Verdict
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
	if root = slashed(root); !path.IsAbs(root) {
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
