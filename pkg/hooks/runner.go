package hooks

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Runner is the hooks of a pipeline of agents: told when a run starts, after
// each step, and when the run ends. All hooks run at the same time, each within
// the timeout. One that fails is logged and recorded, and never fails the
// pipeline. It may be used concurrently. Close it when the pipeline is over.
type Runner struct {
	registry *Registry
	meta     Meta
}

// RunnerOptions are what a [Runner] works with. With the zero RunnerOptions
// nothing is recorded; hooks can be registered all the same.
type RunnerOptions struct {
	Appender Appender      // records runs and steps, if AgentFS or Beads is on
	AgentFS  string        // the AgentFS file that they go to; empty: off
	Beads    bool          // issues are kept from them
	Timeout  time.Duration // of each hook; [DefaultTimeout] unless positive
	Logger   *slog.Logger  // nil discards
}

// NewRunner returns a runner without hooks of one's own.
func NewRunner(opts RunnerOptions) *Runner {
	r := &Runner{meta: Meta{AgentFS: opts.AgentFS}}
	var on []string
	if opts.AgentFS != "" {
		on = append(on, "agentfs")
	}
	if opts.Beads {
		on = append(on, "beads")
	}
	r.meta.Hooks = strings.Join(on, ",")
	registry := Options{Timeout: opts.Timeout, ChainTimeout: max(opts.Timeout, DefaultChainTimeout), Logger: opts.Logger}
	if len(on) > 0 {
		registry.Appender = opts.Appender
	}
	r.registry = NewRegistry(registry)
	return r
}

// Use registers the methods of hook that are those of [RunStarter],
// [StepFollower] and [RunEnder]; one with none of them is an error. Its Name and
// IsEnabled are honoured, if it has them: IsEnabled is asked each time, as part
// of the hook and within its timeout. See [Registry.Use].
func (r *Runner) Use(hook any, opts ...Option) error {
	if err := checkProvider(hook); err != nil {
		return fmt.Errorf("use %T: %w", hook, err)
	}
	switch hook.(type) {
	case RunStarter, StepFollower, RunEnder:
	default:
		return fmt.Errorf("use %T: neither RunStart nor AfterStep nor RunEnd", hook)
	}
	_, err := r.registry.Use(hook, opts...)
	return err
}

// Hooks returns what the events of r name as their hooks: which of agentfs and
// beads are on, "" for none.
func (r *Runner) Hooks() string { return r.meta.Hooks }

// Engine returns an engine with the hooks of r, whose other points are recorded
// too.
func (r *Runner) Engine(meta Meta) *Engine {
	meta.AgentFS, meta.Hooks = r.meta.AgentFS, r.meta.Hooks
	return NewEngine(r.registry, meta)
}

// Close waits for hooks that have outlived their timeout, as [Registry.Close]
// does.
func (r *Runner) Close(ctx context.Context) error { return r.registry.Close(ctx) }

// AgentRun says where a pipeline is.
type AgentRun struct {
	Tenant        string
	Run           string
	RunType       string // TRIAGE, PLAN, RESOLVE, REVIEW, AUTOPILOT
	Step          string
	AgentRole     string // FOREMAN, TRIAGE, PLANNER, CODER, VALIDATOR, REVIEWER
	StepStatus    events.StepStatus
	Time          time.Time // zero: now
	InputSummary  string
	OutputSummary string
	Duration      time.Duration
	TokensUsed    *events.Tokens
	Metadata      map[string]any
}

// RunStart tells that a run has started.
func (r *Runner) RunStart(ctx context.Context, at AgentRun) Notified {
	return dispatchFor(ctx, r, RunStarted, at, events.RunStartedData{
		RunType: at.RunType, AgentRole: at.AgentRole, InputSummary: at.InputSummary, Metadata: at.Metadata,
	})
}

// AfterStep tells that a step has ended.
func (r *Runner) AfterStep(ctx context.Context, at AgentRun) Notified {
	return dispatchFor(ctx, r, StepFinished, at, events.StepFinishedData{
		RunType: at.RunType, AgentRole: at.AgentRole, StepStatus: at.StepStatus,
		InputSummary: at.InputSummary, OutputSummary: at.OutputSummary,
		DurationMS: at.Duration.Milliseconds(), TokensUsed: at.TokensUsed, Metadata: at.Metadata,
	})
}

// RunEnd tells that a run has ended, and how.
func (r *Runner) RunEnd(ctx context.Context, at AgentRun, success bool) Notified {
	return dispatchFor(ctx, r, RunFinished, at, events.RunFinishedData{
		RunType: at.RunType, Success: success, OutputSummary: at.OutputSummary,
		DurationMS: at.Duration.Milliseconds(), TokensUsed: at.TokensUsed, Metadata: at.Metadata,
	})
}

// notify tells the hooks of a point, and the log how they fared.
func dispatchFor[E any](ctx context.Context, r *Runner, point *NotificationPoint[E], at AgentRun, data E) Notified {
	meta := r.meta
	meta.Tenant, meta.Run, meta.RunType, meta.Step = at.Tenant, at.Run, at.RunType, at.Step
	meta.AgentRole, meta.Time = at.AgentRole, at.Time
	told := point.Dispatch(ctx, r.registry, meta, data)
	log := r.registry.opts.Logger
	if told.RecordErr != nil {
		log.ErrorContext(ctx, "dispatch not recorded", "point", point.Kind(), "run", at.Run, "step", at.Step, "error", faultOf(told.RecordErr))
	}
	log.DebugContext(ctx, "hooks ran", "point", point.Kind(), "run", at.Run, "step", at.Step,
		"hooks", len(told.Executions), "failed", len(told.Errors), "event", told.Event)
	return told
}

// The environment of [RunnerFromEnv].
const (
	EnvAgentFSEnabled = "GWI_AGENTFS_ENABLED" // "true": record for AgentFS; off by default
	EnvAgentFSID      = "GWI_AGENTFS_ID"      // the AgentFS file; without it AgentFS stays off
	EnvBeadsEnabled   = "GWI_BEADS_ENABLED"   // "true": record for the issues; off by default
	EnvHookDebug      = "GWI_HOOK_DEBUG"      // "true": debug logs; off by default
	EnvHookTimeout    = "GWI_HOOK_TIMEOUT_MS" // timeout of each hook in milliseconds; 5000 by default
)

// RunnerFromEnv returns a runner as the environment wants it. If AgentFS or
// Beads is enabled, runs and steps are recorded to appender, and their events
// name which in their attribute "hooks"; by default nothing is recorded. AgentFS
// without an id is a warning and stays off. A timeout that is not a positive
// number counts as 5000. Logs go to stderr.
func RunnerFromEnv(appender Appender) *Runner {
	return runnerFromEnv(os.Getenv, os.Stderr, appender)
}

func runnerFromEnv(getenv func(string) string, stderr io.Writer, appender Appender) *Runner {
	level := slog.LevelWarn
	if getenv(EnvHookDebug) == switchedOn {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))
	opts := RunnerOptions{
		Appender: appender, Beads: getenv(EnvBeadsEnabled) == switchedOn,
		Timeout: millisecondsOf(getenv(EnvHookTimeout)), Logger: log,
	}
	if getenv(EnvAgentFSEnabled) == switchedOn {
		opts.AgentFS = getenv(EnvAgentFSID)
		if opts.AgentFS == "" {
			log.WarnContext(context.Background(), "AgentFS stays off: it is enabled and has no id", "enabled_by", EnvAgentFSEnabled, "id", EnvAgentFSID)
		}
	}
	return NewRunner(opts)
}

// switchedOn is the one value that enables.
const switchedOn = "true"

// millisecondsOf returns text as a duration, 0 for what is none.
func millisecondsOf(text string) time.Duration {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64/int64(time.Millisecond) {
		return 0
	}
	return time.Duration(n) * time.Millisecond
}
