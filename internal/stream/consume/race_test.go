//go:build race

package consume_test

// stormEvents is the number of events during which a consumer is killed. It is smaller
// because the race detector makes the database ten times slower.
const stormEvents = 20_000
