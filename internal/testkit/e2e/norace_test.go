//go:build !race

package e2e

const (
	raceEnabled = false
	kills       = 60 // of services in TestStorm
	oracleStep  = 1  // every recorded session
)
