// Package provider has ready-made providers for [hooks.Registry.Use]. Each also
// works alone.
//
//	registry.Use(provider.Composite(provider.DenyWins, rules, budget, resilience))
//
// [Composite] and [Tenants] combine providers. [Budget], [Resilience],
// [Context], [Alerts] and [Observability] each serve one purpose. [Recorder] is
// an Appender that sends each event to several places.
//
// All of them are safe for concurrent use. They trust their hook inputs. A
// failure, such as a failed write, fails their hook. It is recorded and does
// not fail the run.
package provider
