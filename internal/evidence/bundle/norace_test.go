//go:build !race

package bundle

// manyRecords is how many records are more than may be in memory.
const manyRecords = 12_000
