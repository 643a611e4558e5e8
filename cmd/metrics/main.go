// Command metrics counts events for Prometheus.
package main

import (
	"github.com/hooktrail/hooktrail/internal/command/metrics"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

func main() { cli.Main(metrics.Command()) }
