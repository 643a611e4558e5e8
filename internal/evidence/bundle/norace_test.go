//go:build !race

package bundle

const (
	manyRecords = 12_000 // do not fit into the memory limit
	tampers     = 25     // of each kind
)
