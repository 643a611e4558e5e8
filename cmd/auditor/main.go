// Command auditor stores the events of agents in a signed ledger and verifies that ledger.
package main

import (
	"github.com/hooktrail/hooktrail/internal/command/auditor"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

func main() { cli.Main(auditor.Command()) }
