// Command hooktrail runs everything in one process, and shows what it does.
package main

import (
	"github.com/hooktrail/hooktrail/internal/command/hooktrail"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

func main() { cli.Main(hooktrail.Command()) }
