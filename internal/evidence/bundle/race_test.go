//go:build race

package bundle

// manyRecords do not fit into the memory limit. There are fewer under the race
// detector, which is ten times slower.
const manyRecords = 3_000
