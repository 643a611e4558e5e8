//go:build !race

package publisher

// manyEvents is how many events a large batch has.
const manyEvents = 100_000
