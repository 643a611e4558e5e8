//go:build race

package consume_test

// stormEvents is how many events a consumer is killed amidst. The detector
// makes the database ten times slower, so that fewer are as much of a storm.
const stormEvents = 20_000
