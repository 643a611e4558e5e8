//go:build race

package rules_test

// What folds is one goroutine: the detector finds nothing more in many histories
// and long texts than in few, and makes them several times slower.
const (
	chaosSeeds  = 5       // histories of everything that may happen
	jitterSeeds = 5       // deliveries of each history that are late
	longText    = 1 << 20 // bytes of a text that no record may hold
)
