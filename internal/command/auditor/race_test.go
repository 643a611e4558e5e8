//go:build race

package auditor

// killEvents is how many events are published while an auditor is killed. The race
// detector makes the database ten times slower.
const killEvents = 20_000
