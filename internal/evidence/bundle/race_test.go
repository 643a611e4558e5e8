//go:build race

package bundle

// manyRecords is how many records are more than may be in memory. The detector
// makes everything ten times slower, so that fewer are as much of a test.
const manyRecords = 3_000
