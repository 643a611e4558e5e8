package agentfs

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain draws fewer histories than rapid's default because each commits many
// database files. Use -rapid.checks for more.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", histories); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}
