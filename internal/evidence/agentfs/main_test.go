package agentfs

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"github.com/hooktrail/hooktrail/internal/testkit/race"
)

// TestMain lowers rapid's number of checks, because each check commits many database files.
// -rapid.checks overrides it.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", strconv.Itoa(race.Size(30, 8))); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}
