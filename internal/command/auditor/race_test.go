//go:build race

package auditor

// killEvents is how many events an auditor is killed amidst. The detector makes
// the database ten times slower, so that fewer are as much of a test.
const killEvents = 20_000
