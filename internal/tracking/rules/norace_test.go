//go:build !race

package rules_test

const (
	chaosSeeds  = 15       // histories of everything that may happen
	jitterSeeds = 20       // deliveries of each history that are late
	worldSeeds  = 2        // simulated days
	stormRuns   = 10_000   // runs that fail within ten minutes
	longText    = 10 << 20 // bytes of a text that no record may contain
)
