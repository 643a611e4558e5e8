package policy

import (
	"fmt"
	"path"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// Mode is what a rule means; see the package documentation.
type Mode string

// The modes. The empty Mode is Strict.
const (
	Strict Mode = "strict"
	Compat Mode = "compat"
)

// Options are what the policies have in common. The zero Options are strict.
type Options struct {
	Mode Mode
	// Root is the absolute path of the directory that relative paths start
	// from; empty means Meta.TeamRoot of the call.
	Root string
	// Undetermined is the verdict on a command that cannot be told before it
	// runs: ask (the default), deny, or none to let it pass.
	Undetermined events.Verdict
}

func (o Options) validate() error {
	if o.Mode != "" && o.Mode != Strict && o.Mode != Compat {
		return fmt.Errorf("mode %q: neither %q nor %q", o.Mode, Strict, Compat)
	}
	switch o.Undetermined {
	case "", events.VerdictAsk, events.VerdictDeny, events.VerdictNone:
	case events.VerdictAllow:
		return fmt.Errorf("undetermined %q: what cannot be told is not safe", o.Undetermined)
	default:
		return fmt.Errorf("undetermined %q: not ask, deny or none", o.Undetermined)
	}
	if o.Root != "" && !path.IsAbs(slashed(o.Root)) {
		return fmt.Errorf("root %q: not absolute", o.Root)
	}
	return nil
}

func (o Options) compat() bool { return o.Mode == Compat }

// root returns where relative paths start, "" if that is not known.
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

// decision is what a policy returns to a tool call.
type decision = hooks.Decision[hooks.ToolPatch]

func deny(reason string) *decision {
	return &decision{Verdict: hooks.Deny, Reason: reason}
}

// doubtful returns the verdict on what cannot be told.
func (o Options) doubtful(reason string) *decision {
	if o.undetermined() == events.VerdictNone {
		return nil
	}
	return &decision{Verdict: o.undetermined(), Reason: reason}
}
