// Command tracker keeps issues for work that outlives a run.
package main

import (
	"github.com/hooktrail/hooktrail/internal/command/tracker"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

func main() { cli.Main(tracker.Command()) }
