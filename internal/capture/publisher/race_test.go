//go:build race

package publisher

// manyEvents is how many events a large batch has. The detector makes everything
// several times slower, so that fewer are as much of a test.
const manyEvents = 20_000
