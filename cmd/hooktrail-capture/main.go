// Command hooktrail-capture answers a hook of an agent, and records it if no publisher does. The
// program hooktrail-hook runs it.
package main

import (
	"os"

	"github.com/hooktrail/hooktrail/internal/command/capture"
)

func main() { os.Exit(capture.Main(os.Args[1:])) }
