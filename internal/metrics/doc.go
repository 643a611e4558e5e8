// Package metrics counts events for Prometheus.
//
// It counts activities, not messages. A run is identified by its id, and steps, tool calls and
// model responses by the run and their own id. An event counts once, even if several producers or
// imports send it. If several events end the same activity, the last one decides its status. A
// counter can therefore decrease, which Prometheus treats as a restart of the counter.
//
// The tokens of a run are the sum over its model responses. If none reports tokens, its steps
// count, and otherwise the total at the end of the run.
//
// The state is in DataDir/metrics/metrics.db. Each transaction stores the counts together with the
// position in the stream. In each metric, a label has at most 100 values. Later values count as
// "other".
package metrics
