// Package onesession tests that hooks, transcript and telemetry of one session become one run,
// without counting a call twice.
package onesession
