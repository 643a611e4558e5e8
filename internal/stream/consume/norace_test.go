//go:build !race

package consume_test

// stormEvents is how many events a consumer is killed amidst.
const stormEvents = 100_000
