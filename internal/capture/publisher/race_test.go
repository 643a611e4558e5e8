//go:build race

package publisher

// manyEvents is the number of events in a large batch. It is smaller here, because the
// race detector is slow.
const manyEvents = 20_000
