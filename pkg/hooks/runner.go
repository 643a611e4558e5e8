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

// Runner calls the hooks of an agent pipeline when a run starts, after each step, and when the run
// ends. A failed hook does not stop the pipeline. Close must be called at the end. A Runner is safe
// for concurrent use.
type Runner struct {
	registry *Registry
	meta     Meta
}

// RunnerOptions configures a [Runner]. With the zero RunnerOptions, nothing is recorded.
type RunnerOptions struct {
	Appender Appender      // records runs and steps if AgentFS or Beads is enabled
	AgentFS  string        // name of the AgentFS file. If empty, AgentFS is disabled
	Beads    bool          // enables issue tracking from the events
	Timeout  time.Duration // timeout of each hook, [DefaultTimeout] unless positive
	Logger   *slog.Logger  // nil discards logs
}

// NewRunner returns a runner without hooks.
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

// Use registers the methods RunStart, AfterStep and RunEnd of hook, like [Registry.Use]. It fails
// if hook has none of them.
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

// Hooks returns the enabled integrations, such as "agentfs,beads".
func (r *Runner) Hooks() string { return r.meta.Hooks }

// Engine returns an engine that uses the hooks and the Appender of r.
func (r *Runner) Engine(meta Meta) *Engine {
	meta.AgentFS, meta.Hooks = r.meta.AgentFS, r.meta.Hooks
	return NewEngine(r.registry, meta)
}

// Close rejects new hooks and waits for executions, like [Registry.Close].
func (r *Runner) Close(ctx context.Context) error { return r.registry.Close(ctx) }

// AgentRun describes the current state of a pipeline.
type AgentRun struct {
	Tenant        string
	Run           string
	RunType       string
	Step          string
	AgentRole     string // FOREMAN, TRIAGE, PLANNER, CODER, VALIDATOR, REVIEWER
	StepStatus    events.StepStatus
	Time          time.Time // zero for now
	InputSummary  string
	OutputSummary string
	Duration      time.Duration
	TokensUsed    *events.Tokens
	Metadata      map[string]any
}

// RunStart reports the start of a run.
func (r *Runner) RunStart(ctx context.Context, at AgentRun) Notified {
	return dispatchFor(ctx, r, RunStarted, at, events.RunStartedData{
		RunType: at.RunType, AgentRole: at.AgentRole, InputSummary: at.InputSummary, Metadata: at.Metadata,
	})
}

// AfterStep reports the end of a step.
func (r *Runner) AfterStep(ctx context.Context, at AgentRun) Notified {
	return dispatchFor(ctx, r, StepFinished, at, events.StepFinishedData{
		RunType: at.RunType, AgentRole: at.AgentRole, StepStatus: at.StepStatus,
		InputSummary: at.InputSummary, OutputSummary: at.OutputSummary,
		DurationMS: at.Duration.Milliseconds(), TokensUsed: at.TokensUsed, Metadata: at.Metadata,
	})
}

// RunEnd reports the end of a run.
func (r *Runner) RunEnd(ctx context.Context, at AgentRun, success bool) Notified {
	return dispatchFor(ctx, r, RunFinished, at, events.RunFinishedData{
		RunType: at.RunType, Success: success, OutputSummary: at.OutputSummary,
		DurationMS: at.Duration.Milliseconds(), TokensUsed: at.TokensUsed, Metadata: at.Metadata,
	})
}

func dispatchFor[E any](ctx context.Context, r *Runner, point *NotificationPoint[E], at AgentRun, data E) Notified {
	meta := r.meta
	meta.Tenant, meta.Run, meta.RunType, meta.Step = at.Tenant, at.Run, at.RunType, at.Step
	meta.AgentRole, meta.Time = at.AgentRole, at.Time
	notified := point.Dispatch(ctx, r.registry, meta, data)
	log := r.registry.opts.Logger
	if notified.RecordErr != nil {
		log.ErrorContext(ctx, "dispatch not recorded", "point", point.Kind(), "run", at.Run, "step", at.Step, "error", faultOf(notified.RecordErr))
	}
	log.DebugContext(ctx, "hooks ran", "point", point.Kind(), "run", at.Run, "step", at.Step,
		"hooks", len(notified.Executions), "failed", len(notified.Errors), "event", notified.Event)
	return notified
}

// The environment variables of [RunnerFromEnv].
const (
	EnvAgentFSEnabled = "GWI_AGENTFS_ENABLED" // "true" enables recording for AgentFS
	EnvAgentFSID      = "GWI_AGENTFS_ID"      // name of the AgentFS file
	EnvBeadsEnabled   = "GWI_BEADS_ENABLED"   // "true" enables recording for the issue tracker
	EnvHookDebug      = "GWI_HOOK_DEBUG"      // "true" enables debug logs
	EnvHookTimeout    = "GWI_HOOK_TIMEOUT_MS" // timeout of each hook in milliseconds, 5000 by default
)

// RunnerFromEnv returns a Runner whose options come from environment variables. If AgentFS or Beads
// is enabled, runs and steps are recorded with appender.
//
// Invalid variables cause no error. AgentFS without an id stays off, with a warning in the log on
// stderr. An invalid timeout becomes 5 seconds.
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

const switchedOn = "true"

func millisecondsOf(text string) time.Duration {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64/int64(time.Millisecond) {
		return 0
	}
	return time.Duration(n) * time.Millisecond
}
