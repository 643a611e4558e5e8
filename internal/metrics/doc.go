// Package metrics counts events for Prometheus.
//
// It counts activities, not messages. A run is identified by its id, a step by run and step, a tool
// call by run and call, and a model response by run and message. An event counts once, even if
// several producers or imports send it. If several events end the same activity, the last one
// determines its status. A counter can therefore decrease, for example when a failed run continues
// and succeeds. Prometheus treats a decrease as a restart of the counter.
//
// The tokens of a run are the sum of its model responses. If no response reports tokens, they are
// the sum of its steps. If no step reports tokens either, they come from the end of the run.
//
// The state is in DataDir/metrics/metrics.db. Each transaction stores the counts together with the
// position in the stream. In each metric, a label has at most 100 values. Later values count as
// "other".
package metrics
