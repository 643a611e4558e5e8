//go:build race

package e2e

// raceEnabled says that everything is slower.
const raceEnabled = true
