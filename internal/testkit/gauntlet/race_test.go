//go:build race

package gauntlet

// The detector makes databases ten times slower: a few trials show it as much of
// the goroutines as many do, and the table is left to who has all.
const (
	trials     = 2      // of each attack
	manyEvents = 10_000 // those of which one is deleted
)
