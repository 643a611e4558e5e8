// Command auditor keeps what agents did in a signed ledger, and verifies it.
package main

import (
	"github.com/hooktrail/hooktrail/internal/command/auditor"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

func main() { cli.Main(auditor.Command()) }
