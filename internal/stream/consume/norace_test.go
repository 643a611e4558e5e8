//go:build !race

package consume_test

// stormEvents is the number of events during which a consumer is killed.
const stormEvents = 100_000
