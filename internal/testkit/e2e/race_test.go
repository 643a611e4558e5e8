//go:build race

package e2e

// The commands are built with the race detector too, and take several times as long.
const (
	raceEnabled = true
	kills       = 25 // of services in TestStorm
	oracleStep  = 3  // every third recorded session
)
