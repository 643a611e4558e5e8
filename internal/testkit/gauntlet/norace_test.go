//go:build !race

package gauntlet

// trials is the number of trials of each attack, at random positions.
const trials = trialsOfTable

// manyEvents is the number of events from which one is deleted.
const manyEvents = 100_000
