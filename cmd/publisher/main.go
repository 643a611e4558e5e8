// Command publisher takes events in and brings them to the stream.
package main

import (
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/publisher"
)

func main() { cli.Main(publisher.Command()) }
