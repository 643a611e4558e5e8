// Package provider contains ready-made providers for [hooks.Registry.Use].
//
//	registry.Use(provider.Composite(provider.DenyWins, rules, budget, resilience))
//
// [Composite] and [Tenants] combine providers. [Recorder] combines Appenders.
//
// All providers are safe for concurrent use. They trust their inputs. If a provider fails, for
// example because it cannot write a file, its hook fails, the failure is recorded, and the run
// continues.
package provider
