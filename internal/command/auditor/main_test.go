package auditor

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

// commandEnv makes this test binary an auditor process that tests can kill.
const commandEnv = "HOOKTRAIL_TEST_AUDITOR"

func TestMain(m *testing.M) {
	if os.Getenv(commandEnv) == "" {
		os.Exit(runTests(m))
	}
	cli.Main(Command())
}

// runTests keeps the tests' pins out of the user's configuration folder.
func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "known-ledgers-")
	if err == nil {
		err = os.Setenv(cli.EnvName("known-ledgers"), filepath.Join(dir, "known_ledgers"))
	}
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	return m.Run()
}
