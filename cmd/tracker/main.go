// Command tracker creates issues for failures and undone work.
package main

import (
	"github.com/hooktrail/hooktrail/internal/command/tracker"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

func main() { cli.Main(tracker.Command()) }
