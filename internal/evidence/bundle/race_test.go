//go:build race

package bundle

// The race detector makes all of this ten times slower.
const (
	manyRecords = 1_500 // do not fit into the memory limit
	tampers     = 5     // of each kind
)
