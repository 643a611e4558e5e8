package app

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hooktrail/hooktrail/internal/testkit/metricsdoc"
)

func TestDocs_Metrics(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	instrument(registry, []*service{newService("auditor", nil)})
	metricsdoc.Check(t, "../../docs/operations.md", registry, func(name string) bool {
		return strings.HasPrefix(name, "hooktrail_part_")
	})
}
