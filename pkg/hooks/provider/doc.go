// Package provider has ready-made providers for [hooks.Registry.Use].
//
//	registry.Use(provider.Composite(provider.DenyWins, rules, budget, resilience))
//
// [Composite] and [Tenants] combine providers, and [Recorder] combines
// Appenders.
//
// All of them are safe for concurrent use and do not check their inputs. A
// failure, such as a failed write, is recorded and fails the hook, but not the
// run.
package provider
