//go:build !race

package gauntlet

// trials is how often each attack is tried, each time somewhere else.
const trials = trialsOfTable

// manyEvents are those of which one is deleted.
const manyEvents = 100_000
