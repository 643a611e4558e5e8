// Package onesession tests that hooks, transcript and telemetry of one session are one run, in
// which each call counts once.
package onesession
