//go:build race

package agentfs

// histories are few: the detector makes the database ten times slower.
const histories = "8"
