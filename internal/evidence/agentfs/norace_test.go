//go:build !race

package agentfs

// histories is how many histories a test draws.
const histories = "30"
