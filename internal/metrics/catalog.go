package metrics

import (
	"time"

	"github.com/hooktrail/hooktrail/internal/stream/projection"
)

type family struct {
	name    string
	help    string
	labels  []string
	gauge   bool
	micros  bool // the stored value is in millionths
	buckets []time.Duration
}

// The database stores series under the names of these metrics, so the meaning of a name must never
// change.
var (
	runsTotal = &family{
		name: "hooktrail_runs_total", labels: []string{"tenant", "run_type", "status"},
		help: "Ended runs by their last status (completed, failed, interrupted, unknown).",
	}
	runsActive = &family{
		name: "hooktrail_runs_active", labels: []string{"tenant", "run_type"}, gauge: true,
		help: "Runs that have started and have not ended.",
	}
	runDuration = &family{
		name: "hooktrail_run_duration_seconds", labels: []string{"tenant", "run_type"}, buckets: longBuckets,
		help: "Duration of runs.",
	}
	stepsTotal = &family{
		name: "hooktrail_steps_total", labels: []string{"tenant", "agent_role", "status"},
		help: "Ended steps by their last status (completed, failed, skipped, interrupted, unknown).",
	}
	stepsActive = &family{
		name: "hooktrail_steps_active", labels: []string{"tenant", "agent_role"}, gauge: true,
		help: "Steps that are pending or running.",
	}
	stepDuration = &family{
		name: "hooktrail_step_duration_seconds", labels: []string{"tenant", "agent_role"}, buckets: longBuckets,
		help: "Duration of steps.",
	}
	callsTotal = &family{
		name: "hooktrail_tool_calls_total", labels: []string{"tenant", "tool", "status"},
		help: "Ended tool calls by status (success, error, denied, interrupted).",
	}
	deniedResults = &family{
		name: "hooktrail_tool_results_after_denial_total", labels: []string{"tenant", "tool"},
		help: "Denied tool calls with a successful result. The denial had no effect, or the result is forged.",
	}
	numbersReused = &family{
		name: "hooktrail_numbers_reused_total", labels: []string{"tenant"},
		help: "Events with the number of another recent event of their producer and other content. At least one of the two is forged.",
	}
	callsActive = &family{
		name: "hooktrail_tool_calls_active", labels: []string{"tenant", "tool"}, gauge: true,
		help: "Tool calls without a result.",
	}
	callDuration = &family{
		name: "hooktrail_tool_call_duration_seconds", labels: []string{"tenant", "tool"}, buckets: shortBuckets,
		help: "Duration of tool calls.",
	}
	tokensTotal = &family{
		name: "hooktrail_tokens_total", labels: []string{"tenant", "agent_role", "kind"},
		help: "Model tokens by kind (input, output, cache_creation, cache_read).",
	}
	costTotal = &family{
		name: "hooktrail_cost_usd_total", labels: []string{"tenant", "estimated"}, micros: true,
		help: "Cost of ended runs in US dollars, as the source stated it, or estimated from tokens and list prices. A stated cost includes the sub-agents.",
	}
	hookFailures = &family{
		name: "hooktrail_hook_failures_total", labels: []string{"tenant", "point", "hook"},
		help: "Hook executions that failed or timed out.",
	}
)

var families = []*family{
	runsTotal, runsActive, runDuration, stepsTotal, stepsActive, stepDuration,
	callsTotal, deniedResults, callsActive, callDuration, tokensTotal, costTotal, hookFailures, numbersReused,
}

// These are the upper bounds of the buckets of all histograms. The database stores their counts, so
// increase schema.Version to change them.
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

// schema describes the database. Increase its version if the tables, labelLimit or the buckets
// change. An upgrade keeps the counts of earlier events.
var schema = projection.Schema{Name: "metrics", Version: 4, Tables: tables, Upgrades: map[int64]string{1: separateSeen, 2: costTable, 3: costParents}}

// Tables of the database:
//
//	thing    activities: runs, steps, tool calls, model responses and failed hook dispatches
//	seen     events that were applied to an activity
//	tokens   token counts of an activity, and which level (response, step or run) reported them
//	sums     tokens of each run by level and role
//	costs    cost of each ended run
//	series   values of all metrics
//	label    accepted values of each label of a metric
//	about    the tenant that is counted, and the time of the last message
const tables = thingTables + `
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
` + sumTables + costTable + costParents

const thingTables = `
CREATE TABLE thing (
	number   INTEGER PRIMARY KEY,
	kind     INTEGER NOT NULL,
	tenant   TEXT NOT NULL,
	run      TEXT NOT NULL,
	id       TEXT NOT NULL,
	label    TEXT NOT NULL, -- run type, agent role or tool
	status   TEXT NOT NULL,
	started  INTEGER NOT NULL, -- Unix time in microseconds, 0 is unknown
	ended    INTEGER NOT NULL,
	measured INTEGER NOT NULL, -- duration in microseconds as it was reported, 0 is unknown
	UNIQUE (kind, tenant, run, id)
) STRICT;
CREATE TABLE seen (
	thing INTEGER NOT NULL,
	event BLOB NOT NULL, -- eight bytes of the hash of the event's id
	PRIMARY KEY (thing, event)
) STRICT, WITHOUT ROWID;
`

// sumTables creates triggers that keep the token sums of each run. Without the sums, each report of
// tokens would be slow in a long run.
const sumTables = `
CREATE TABLE sums (
	tenant         TEXT NOT NULL,
	run            TEXT NOT NULL,
	level          INTEGER NOT NULL,
	role           TEXT NOT NULL,
	input          INTEGER NOT NULL,
	output         INTEGER NOT NULL,
	cache_creation INTEGER NOT NULL,
	cache_read     INTEGER NOT NULL,
	PRIMARY KEY (tenant, run, level, role)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER tokens_added AFTER INSERT ON tokens BEGIN
	INSERT INTO sums VALUES (new.tenant, new.run, new.level, new.role, new.input, new.output, new.cache_creation, new.cache_read)
		ON CONFLICT DO UPDATE SET input = input + new.input, output = output + new.output,
			cache_creation = cache_creation + new.cache_creation, cache_read = cache_read + new.cache_read;
END;
CREATE TRIGGER tokens_removed AFTER DELETE ON tokens BEGIN
	UPDATE sums SET input = input - old.input, output = output - old.output,
		cache_creation = cache_creation - old.cache_creation, cache_read = cache_read - old.cache_read
		WHERE tenant = old.tenant AND run = old.run AND level = old.level AND role = old.role;
END;
`

// separateSeen upgrades version 1, which stored all hashes of an activity as one value. It splits
// the value in halves again and again, because cutting off single hashes is slow.
const separateSeen = `
ALTER TABLE thing RENAME TO thing1;` + thingTables + `
INSERT INTO thing (kind, tenant, run, id, label, status, started, ended, measured)
	SELECT kind, tenant, run, id, label, status, started, ended, measured FROM thing1;
WITH RECURSIVE part (thing, hashes) AS (
	SELECT number, seen FROM thing1 JOIN thing USING (kind, tenant, run, id)
	UNION ALL
	SELECT thing, iif(side, substr(hashes, 1 + length(hashes) / 16 * 8), substr(hashes, 1, length(hashes) / 16 * 8))
		FROM part, (SELECT 0 AS side UNION ALL SELECT 1) WHERE length(hashes) > 8
)
INSERT OR IGNORE INTO seen SELECT thing, hashes FROM part WHERE length(hashes) = 8;
DROP TABLE thing1;` + sumTables + `
INSERT INTO sums SELECT tenant, run, level, role, sum(input), sum(output), sum(cache_creation), sum(cache_read)
	FROM tokens GROUP BY tenant, run, level, role;
`
