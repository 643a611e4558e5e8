//go:build !race

package e2e

// raceEnabled says that nothing is slower.
const raceEnabled = false
