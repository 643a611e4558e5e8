// Package race makes tests smaller under the race detector, which makes databases ten times slower.
package race

import (
	"flag"
	"strconv"
	"testing"
)

// Size returns n, or fewer under the race detector.
func Size(n, fewer int) int {
	if Enabled {
		return fewer
	}
	return n
}

// Draw sets the number of inputs of rapid.Check to [Size]. The flag -rapid.checks overrides it.
func Draw(tb testing.TB, n, fewer int) {
	tb.Helper()
	checks, given := flag.Lookup("rapid.checks"), false
	flag.Visit(func(f *flag.Flag) { given = given || f == checks })
	if given {
		return
	}
	before := checks.Value.String()
	tb.Cleanup(func() {
		if err := checks.Value.Set(before); err != nil {
			tb.Error(err)
		}
	})
	if err := checks.Value.Set(strconv.Itoa(Size(n, fewer))); err != nil { // flag.Set would count as given
		tb.Fatal(err)
	}
}
