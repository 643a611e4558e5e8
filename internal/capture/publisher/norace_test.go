//go:build !race

package publisher

// manyEvents is the number of events in a large batch.
const manyEvents = 100_000
