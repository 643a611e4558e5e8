package policy

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// Config contains the settings of all policies, with the names that configuration files use. The
// zero Config contains only [DefaultBlockedCommands].
type Config struct {
	Mode         Mode           `json:"mode,omitempty" yaml:"mode,omitempty"`
	Root         string         `json:"root,omitempty" yaml:"root,omitempty"`
	Undetermined events.Verdict `json:"undetermined,omitempty" yaml:"undetermined,omitempty"`

	ShellTools []string `json:"shellTools,omitempty" yaml:"shellTools,omitempty"` // other tools that run commands
	WriteTools []string `json:"writeTools,omitempty" yaml:"writeTools,omitempty"` // other tools that write files

	AllowedWritePaths    []string `json:"allowedWritePaths,omitzero" yaml:"allowedWritePaths,omitempty"` // nil allows any path, an empty list allows none
	BlockedCommands      []string `json:"blockedCommands,omitzero" yaml:"blockedCommands,omitempty"`     // nil for the default, an empty list blocks none
	MaxAskUserPerSession *int     `json:"maxAskUserPerSession,omitempty" yaml:"maxAskUserPerSession,omitempty"`
	ReviewerLockout      bool     `json:"reviewerLockout,omitempty" yaml:"reviewerLockout,omitempty"`
	ScrubPII             bool     `json:"scrubPii,omitempty" yaml:"scrubPii,omitempty"`
	ScrubSecrets         bool     `json:"scrubSecrets,omitempty" yaml:"scrubSecrets,omitempty"`
	Presets              []string `json:"presets,omitempty" yaml:"presets,omitempty"`
}

// Set contains the policies of a [Config]. Its methods call the policies in their order.
type Set struct {
	policies []any
	lockout  *ReviewerLockout
}

// New returns the policies that c configures, or all errors at once.
func New(c Config) (*Set, error) {
	opts := Options{
		Mode: c.Mode, Root: c.Root, Undetermined: c.Undetermined, ShellTools: c.ShellTools, WriteTools: c.WriteTools,
		last: &lastCall{},
	}
	if err := opts.validate(); err != nil {
		return nil, fmt.Errorf("policies: %w", err)
	}
	s := &Set{lockout: &ReviewerLockout{opts: opts}}
	var errs []error
	add := func(policy any, err error) {
		errs = append(errs, err)
		s.policies = append(s.policies, policy)
	}
	if c.AllowedWritePaths != nil {
		add(NewWritePaths(c.AllowedWritePaths, opts))
	}
	if c.BlockedCommands == nil || len(c.BlockedCommands) > 0 {
		add(NewCommands(c.BlockedCommands, opts))
	}
	if c.MaxAskUserPerSession != nil {
		add(NewAskLimit(*c.MaxAskUserPerSession, opts))
	}
	if c.ReviewerLockout {
		add(s.lockout, nil)
	}
	for _, name := range c.Presets {
		add(NewPreset(name, opts))
	}
	if c.ScrubPII {
		add(NewPIIScrubber(opts))
	}
	if c.ScrubSecrets {
		add(NewSecretScrubber(opts))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("policies: %w", err)
	}
	return s, nil
}

// NewSet returns a set of policies. Each policy must implement [hooks.PreToolUser],
// [hooks.PostToolUser] or [hooks.SessionEnder]. The policy that [Set.Lockout] returns is not part
// of this set, so it denies nothing.
func NewSet(policies ...any) *Set {
	return &Set{policies: slices.Clone(policies), lockout: &ReviewerLockout{}}
}

// Policies returns the policies in the order in which they are called.
func (s *Set) Policies() []any { return slices.Clone(s.policies) }

// Lockout returns the policy reviewerLockout of the set. It only has an effect if the configuration
// enables this policy.
func (s *Set) Lockout() *ReviewerLockout { return s.lockout }

// Register registers a hook for each method of each policy, or none after an error. The hooks run
// after those without [hooks.Last], so they judge the final value. The failure mode is Block unless
// opts change it.
func (s *Set) Register(r *hooks.Registry, opts ...hooks.Option) ([]hooks.ID, error) {
	var ids []hooks.ID
	for _, p := range s.policies {
		more, err := r.Use(p, slices.Concat([]hooks.Option{hooks.OnFailure(hooks.Block), hooks.Last()}, opts)...)
		if err != nil {
			for _, id := range ids {
				r.Off(id)
			}
			return nil, fmt.Errorf("register policies: %w", err)
		}
		ids = append(ids, more...)
	}
	return ids, nil
}

// PreToolUse returns the first denial, or else the first decision to ask the user.
func (s *Set) PreToolUse(ctx context.Context, meta hooks.Meta, call hooks.ToolCall) (*hooks.ToolDecision, error) {
	var question *hooks.ToolDecision
	for _, p := range s.policies {
		judge, ok := p.(hooks.PreToolUser)
		if !ok {
			continue
		}
		d, err := judge.PreToolUse(ctx, meta, call)
		switch {
		case err != nil:
			return nil, fmt.Errorf("policies: %w", err)
		case d == nil:
		case d.Verdict == hooks.Deny:
			return d, nil
		case question == nil:
			question = d
		}
	}
	return question, nil
}

// PostToolUse passes the outcome through all policies in order.
func (s *Set) PostToolUse(ctx context.Context, meta hooks.Meta, done hooks.ToolDone, out hooks.ToolOutcome) (*hooks.ToolOutcome, error) {
	var cleaned *hooks.ToolOutcome
	for _, p := range s.policies {
		cleaner, ok := p.(hooks.PostToolUser)
		if !ok {
			continue
		}
		next, err := cleaner.PostToolUse(ctx, meta, done, out)
		if err != nil {
			return nil, fmt.Errorf("policies: %w", err)
		}
		if next != nil {
			cleaned, out = next, *next
		}
	}
	return cleaned, nil
}

// SessionEnd calls SessionEnd of each policy that has this method.
func (s *Set) SessionEnd(ctx context.Context, meta hooks.Meta, data events.SessionEndedData) error {
	var errs []error
	for _, p := range s.policies {
		if ender, ok := p.(hooks.SessionEnder); ok {
			errs = append(errs, ender.SessionEnd(ctx, meta, data))
		}
	}
	return errors.Join(errs...)
}
