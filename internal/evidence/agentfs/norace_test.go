//go:build !race

package agentfs

// histories is how many are drawn.
const histories = "30"
