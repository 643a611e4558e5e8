// Command tracker keeps issues for the work that outlives a run.
package main

import (
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/tracking/tracker"
)

func main() { cli.Main(tracker.Command()) }
