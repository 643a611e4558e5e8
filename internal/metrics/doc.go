// Package metrics counts events for Prometheus: runs, steps, tool calls, tokens,
// durations and hook failures, by tenant, role, tool and status.
//
// The service counts activities and not messages. A run is identified by its id, a step
// by run and step, a tool call by run and call, and a model response by run and message.
// The latest event of an activity determines its status. An event counts once, even if
// several producers or repeated imports send it. A counter can fall when a failed run
// continues and succeeds. Prometheus treats that as a restart.
//
// The tokens of a run come from its model responses. If it has none, they come from its
// steps, and otherwise from its end.
//
// The state is in DataDir/metrics/metrics.db. One transaction commits the state and the
// position in the stream. The same stream therefore gives the same counts, whatever the
// batches, restarts and crashes. A label has at most 100 values in each metric, in the
// order of the stream. All further values count as "other".
package metrics
