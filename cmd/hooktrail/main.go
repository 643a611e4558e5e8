// Command hooktrail runs all services in one process. It also has commands that show recorded
// events.
package main

import (
	"github.com/hooktrail/hooktrail/internal/command/hooktrail"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

func main() { cli.Main(hooktrail.Command()) }
