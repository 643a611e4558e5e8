package ingest_test

import (
	"os"
	"path/filepath"
	"testing"
)

// dataDir returns the folder of recorded sessions, or skips the test.
func dataDir(tb testing.TB) string {
	tb.Helper()
	dir := os.Getenv("HOOKTRAIL_DATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "data")
	}
	if _, err := os.Stat(dir); err != nil {
		tb.Skipf("recorded sessions are not here: %v; set HOOKTRAIL_DATA to their folder", err)
	}
	return dir
}
