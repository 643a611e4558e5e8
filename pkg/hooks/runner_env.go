package hooks

import (
	"context"
	"io"
	"log/slog"
	"math"
	"os"
	"strconv"
	"time"
)

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
