//go:build !race

package bundle

// manyRecords do not fit into the memory limit.
const manyRecords = 12_000
