//go:build !race

package auditor

// killEvents is how many events an auditor is killed amidst.
const killEvents = 100_000
