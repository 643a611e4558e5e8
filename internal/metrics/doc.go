// Package metrics counts what agents did, from the stream of events: runs,
// steps, tool calls, tokens, durations and failures of hooks, by tenant, role,
// tool and status, for Prometheus.
//
// What is counted are things, not messages: a run by its id, a step by run and
// step, a tool call by run and call, an answer of a model by run and message.
// The latest event of a thing counts, and an event counts once, however often
// and through however many producers it comes: an import that is repeated, or
// that brings a longer transcript of the same session, counts nothing twice.
// So a counter can fall, when a run that had failed goes on and succeeds;
// Prometheus takes that for a restart.
//
// Tokens are those of the model's answers; in a run that reports none of them,
// those of its steps; in one that has neither, those of its end.
//
// The state lies in DataDir/metrics/metrics.db and is committed together with
// the position in the stream, so that the same stream gives the same numbers
// whatever the batches, restarts and crashes in between. A label has at most
// 100 values in each metric, the first in stream order; things with another
// value count under "other".
package metrics
