//go:build !race

package auditor

// killEvents is how many events are published while an auditor is killed.
const killEvents = 100_000
