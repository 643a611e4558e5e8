// Package realdata finds recorded sessions of real tools, in HOOKTRAIL_DATA or in ../shared/data
// next to the repository.
package realdata

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Path returns the path of a recording. Without any recordings, it skips the test.
func Path(tb testing.TB, elem ...string) string {
	tb.Helper()
	dir := os.Getenv("HOOKTRAIL_DATA")
	if dir == "" {
		_, here, _, _ := runtime.Caller(0) //nolint:dogsled // only the file is needed
		dir = filepath.Join(filepath.Dir(here), "..", "..", "..", "..", "shared", "data")
	}
	if _, err := os.Stat(dir); err != nil {
		tb.Skipf("recorded data is missing: %v; set HOOKTRAIL_DATA to its folder", err)
	}
	path := filepath.Join(append([]string{dir}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		tb.Fatal(err)
	}
	return path
}
