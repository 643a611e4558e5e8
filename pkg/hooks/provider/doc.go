// Package provider holds ready-made hooks that are more than rules: providers
// for [hooks.Registry.Use], each of which works alone.
//
//	registry.Use(provider.Composite(provider.DenyWins, rules, budget, resilience))
//
// [Composite] and [Tenants] put providers together. [Budget], [Resilience],
// [Context], [Alerts] and [Observability] each serve one need. A [Recorder] is no
// provider but an Appender: it sends the outcome of every dispatch to more than
// one place.
//
// All of them may be used concurrently. What they are told in hooks they take for
// true; what they cannot do, such as write a file, is an error of their hook,
// which is recorded and does not fail the run.
package provider
