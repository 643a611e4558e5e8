// Command hooktrail runs everything in one process, and shows what it does.
package main

import (
	"github.com/hooktrail/hooktrail/internal/cli"
	"github.com/hooktrail/hooktrail/internal/hooktrail"
)

func main() { cli.Main(hooktrail.Command()) }
