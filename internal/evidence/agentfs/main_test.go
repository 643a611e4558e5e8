package agentfs

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain draws fewer histories than rapid does by itself: each opens and
// commits database files many times. -rapid.checks has more.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", histories); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}
