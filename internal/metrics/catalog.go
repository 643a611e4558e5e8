package metrics

import (
	"time"

	"github.com/hooktrail/hooktrail/internal/stream/projection"
)

// family is one metric: its series differ in the values of its labels.
type family struct {
	name    string
	help    string
	labels  []string
	gauge   bool
	buckets []time.Duration // of a histogram; nil for others
}

// The families, by the name that their series are stored under: a name is never
// given another meaning.
var (
	runsTotal = &family{
		name: "hooktrail_runs_total", labels: []string{"tenant", "run_type", "status"},
		help: "Runs that ended, by how they ended last (completed, failed).",
	}
	runsActive = &family{
		name: "hooktrail_runs_active", labels: []string{"tenant", "run_type"}, gauge: true,
		help: "Runs that started and have not ended.",
	}
	runDuration = &family{
		name: "hooktrail_run_duration_seconds", labels: []string{"tenant", "run_type"}, buckets: longBuckets,
		help: "How long runs took.",
	}
	stepsTotal = &family{
		name: "hooktrail_steps_total", labels: []string{"tenant", "agent_role", "status"},
		help: "Steps that ended, by how they ended last (completed, failed, skipped).",
	}
	stepsActive = &family{
		name: "hooktrail_steps_active", labels: []string{"tenant", "agent_role"}, gauge: true,
		help: "Steps that are pending or running.",
	}
	stepDuration = &family{
		name: "hooktrail_step_duration_seconds", labels: []string{"tenant", "agent_role"}, buckets: longBuckets,
		help: "How long steps took.",
	}
	callsTotal = &family{
		name: "hooktrail_tool_calls_total", labels: []string{"tenant", "tool", "status"},
		help: "Tool calls that ended, by how (success, error, denied).",
	}
	callsActive = &family{
		name: "hooktrail_tool_calls_active", labels: []string{"tenant", "tool"}, gauge: true,
		help: "Tool calls without a result.",
	}
	callDuration = &family{
		name: "hooktrail_tool_call_duration_seconds", labels: []string{"tenant", "tool"}, buckets: shortBuckets,
		help: "How long tool calls took.",
	}
	tokensTotal = &family{
		name: "hooktrail_tokens_total", labels: []string{"tenant", "agent_role", "kind"},
		help: "Model tokens, by kind (input, output, cache_creation, cache_read).",
	}
	hookFailures = &family{
		name: "hooktrail_hook_failures_total", labels: []string{"tenant", "point", "hook"},
		help: "Executions of hooks that failed or timed out.",
	}
)

var families = []*family{
	runsTotal, runsActive, runDuration, stepsTotal, stepsActive, stepDuration,
	callsTotal, callsActive, callDuration, tokensTotal, hookFailures,
}

// The upper bounds of the buckets. They are part of the stored state: changing
// them asks for another schema version.
var (
	shortBuckets = []time.Duration{
		5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond,
		250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2500 * time.Millisecond, 5 * time.Second,
		10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute,
	}
	longBuckets = []time.Duration{
		100 * time.Millisecond, 500 * time.Millisecond, time.Second, 5 * time.Second, 15 * time.Second, 30 * time.Second,
		time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 20 * time.Minute, 30 * time.Minute,
		time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 24 * time.Hour,
	}
)

// schema is that of the state. Its version is raised with every change of the
// tables, of what is counted, of labelLimit, or of the buckets.
var schema = projection.Schema{Name: "metrics", Version: 1, Tables: tables}

// tables of the state:
//
//	thing    a run, step, tool call, answer or failing dispatch, as its events left it
//	tokens   the tokens of a thing, and on which level of its run they were reported
//	series   the numbers, kept up with the things
//	label    the values that a label may have in a metric
//	about    what the state is of
const tables = `
CREATE TABLE thing (
	kind     INTEGER NOT NULL,
	tenant   TEXT NOT NULL,
	run      TEXT NOT NULL,
	id       TEXT NOT NULL,
	label    TEXT NOT NULL, -- run type, agent role or tool
	status   TEXT NOT NULL,
	started  INTEGER NOT NULL, -- Unix time in microseconds, 0 is unknown
	ended    INTEGER NOT NULL,
	measured INTEGER NOT NULL, -- duration in microseconds as it was reported, 0 is unknown
	seen     BLOB NOT NULL,    -- eight bytes of the hash of each event's id
	PRIMARY KEY (kind, tenant, run, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE tokens (
	tenant         TEXT NOT NULL,
	run            TEXT NOT NULL,
	level          INTEGER NOT NULL,
	id             TEXT NOT NULL,
	role           TEXT NOT NULL,
	input          INTEGER NOT NULL,
	output         INTEGER NOT NULL,
	cache_creation INTEGER NOT NULL,
	cache_read     INTEGER NOT NULL,
	PRIMARY KEY (tenant, run, level, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE series (
	metric TEXT NOT NULL,
	labels TEXT NOT NULL, -- JSON array
	value  INTEGER NOT NULL, -- of a histogram: the sum in microseconds
	counts TEXT NOT NULL, -- JSON array, one number per bucket and one for what is larger; empty unless a histogram
	PRIMARY KEY (metric, labels)
) STRICT, WITHOUT ROWID;
CREATE TABLE label (
	metric TEXT NOT NULL,
	label  TEXT NOT NULL,
	value  TEXT NOT NULL,
	PRIMARY KEY (metric, label, value)
) STRICT, WITHOUT ROWID;
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
`
