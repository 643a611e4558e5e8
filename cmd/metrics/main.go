// Command metrics counts the stream for Prometheus.
package main

import (
	"github.com/hooktrail/hooktrail/internal/metrics"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

func main() { cli.Main(metrics.Command()) }
