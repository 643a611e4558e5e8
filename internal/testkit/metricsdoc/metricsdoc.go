// Package metricsdoc compares the metrics in docs/operations.md with a registry.
package metricsdoc

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

const prefix = "hooktrail_"

// Check compares the rows of the document at path with the metrics that covers selects. Each metric
// needs at least one series.
func Check(tb testing.TB, path string, gatherer prometheus.Gatherer, covers func(name string) bool) {
	tb.Helper()
	families, err := gatherer.Gather()
	if err != nil {
		tb.Fatal(err)
	}
	var want []string
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), prefix) || !covers(f.GetName()) {
			continue
		}
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, "`"+l.GetName()+"`")
		}
		want = append(want, fmt.Sprintf("| `%s` | %s | %s | %s |",
			f.GetName(), strings.ToLower(f.GetType().String()), strings.Join(labels, " "), f.GetHelp()))
	}
	page, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(page)) {
		row, ok := strings.CutPrefix(line, "| `")
		if ok && strings.HasPrefix(row, prefix) && covers(row) {
			got = append(got, strings.TrimSpace(line))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		tb.Errorf("metrics in %s (-registry +document):\n%s", path, diff)
	}
}
