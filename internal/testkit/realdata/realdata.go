// Package realdata finds what real tools have recorded, for tests. It lies beside
// the repository, in ../shared/data, or where HOOKTRAIL_DATA says.
package realdata

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Path returns the path of a file or folder of the recorded data. It skips the
// test where there is no such data at all, and fails it where only the path is
// wrong.
func Path(tb testing.TB, elem ...string) string {
	tb.Helper()
	dir := os.Getenv("HOOKTRAIL_DATA")
	if dir == "" {
		_, here, _, _ := runtime.Caller(0) //nolint:dogsled // only the file is of interest
		dir = filepath.Join(filepath.Dir(here), "..", "..", "..", "..", "shared", "data")
	}
	if _, err := os.Stat(dir); err != nil {
		tb.Skipf("recorded data is not here: %v; set HOOKTRAIL_DATA to its folder", err)
	}
	path := filepath.Join(append([]string{dir}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		tb.Fatal(err)
	}
	return path
}
