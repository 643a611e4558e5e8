//go:build race

package gauntlet

// manyEvents are those of which one is deleted. The detector makes the database
// ten times slower, so that fewer are as much of a test.
const manyEvents = 10_000
