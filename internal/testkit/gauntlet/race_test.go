//go:build race

package gauntlet

// The race detector makes databases ten times slower. A few trials run the same goroutines,
// and the table needs all trials.
const (
	trials     = 2      // of each attack
	manyEvents = 10_000 // one is deleted
)
