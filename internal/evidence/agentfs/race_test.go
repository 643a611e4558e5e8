//go:build race

package agentfs

// histories are few because the race detector makes the database ten times slower.
const histories = "8"
