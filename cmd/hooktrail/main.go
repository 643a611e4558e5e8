// Command hooktrail runs all services in one process, and shows recorded runs.
package main

import (
	"github.com/hooktrail/hooktrail/internal/command/hooktrail"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

func main() { cli.Main(hooktrail.Command()) }
