//go:build !race

package gauntlet

// manyEvents are those of which one is deleted.
const manyEvents = 100_000
