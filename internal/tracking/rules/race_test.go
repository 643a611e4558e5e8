//go:build race

package rules_test

// The fold uses one goroutine. The race detector finds no more with many histories and
// long texts, and makes them much slower.
const (
	chaosSeeds  = 5       // histories of everything that may happen
	jitterSeeds = 5       // deliveries of each history that are late
	worldSeeds  = 1       // simulated days
	stormRuns   = 2_000   // runs that fail within ten minutes
	longText    = 1 << 20 // bytes of a text that no record may contain
)
