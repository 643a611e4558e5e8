package auditor

import (
	"os"
	"testing"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

// commandEnv makes this test binary be the auditor: a process that can be killed.
const commandEnv = "HOOKTRAIL_TEST_AUDITOR"

func TestMain(m *testing.M) {
	if os.Getenv(commandEnv) == "" {
		os.Exit(m.Run())
	}
	cli.Main(Command())
}
