// Command publisher accepts events and publishes them to the stream.
package main

import (
	"github.com/hooktrail/hooktrail/internal/command/publisher"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

func main() { cli.Main(publisher.Command()) }
