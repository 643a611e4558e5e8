// Command metrics counts the stream for Prometheus.
package main

import (
	"github.com/hooktrail/hooktrail/internal/cli"
	"github.com/hooktrail/hooktrail/internal/metrics"
)

func main() { cli.Main(metrics.Command()) }
