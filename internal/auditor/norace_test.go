//go:build !race

package auditor_test

// killEvents is how many events an auditor is killed amidst.
const killEvents = 100_000
