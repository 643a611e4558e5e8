// Command tracker creates issues for work that continues after the run that reported it.
package main

import (
	"github.com/hooktrail/hooktrail/internal/command/tracker"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

func main() { cli.Main(tracker.Command()) }
