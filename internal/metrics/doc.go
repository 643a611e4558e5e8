// Package metrics counts events for Prometheus.
//
// The service counts activities and not messages. A run is identified by its id, a step by run
// and step, a tool call by run and call, and a model response by run and message. The last end
// of an activity in the stream determines its status. An event counts once, even if several
// producers or imports send it. A counter can fall when a failed run continues and succeeds,
// which Prometheus treats as a restart.
//
// The tokens of a run come from its model responses, otherwise from its steps, and
// otherwise from its end.
//
// The state is in DataDir/metrics/metrics.db. One transaction commits it with the
// position in the stream, so the same stream gives the same counts. A label has at most
// 100 values in each metric, in the order of the stream. All further values count as
// "other".
package metrics
