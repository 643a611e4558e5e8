package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
)

// outcome is what whatif --json prints.
type outcome struct {
	Issues    []Issue     `json:"issues"`
	Decisions []Decision  `json:"decisions"`
	Against   *Comparison `json:"against"`
}

// call runs the command, and returns its exit status and what it printed. There is
// no broker.
func call(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	shared := new(cli.Shared)
	cmd := cli.Group("tracker", "", Command(shared, func(*cobra.Command, func(*broker.Broker) error) error {
		return errors.New("it connects")
	}))
	shared.Register(cmd)
	var out, errs bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	status = cli.Execute(t.Context(), cmd, append([]string{"whatif", "--data-dir", t.TempDir()}, args...))
	return status, out.String(), errs.String()
}

func callJSON[T any](t *testing.T, args ...string) (v T) {
	t.Helper()
	status, stdout, stderr := call(t, append(args, "--json")...)
	if status != cli.ExitOK {
		t.Fatalf("whatif %v: exit status %d: %s", args, status, stderr)
	}
	if err := json.Unmarshal([]byte(stdout), &v); err != nil {
		t.Fatalf("whatif %v: %v in %s", args, err, stdout)
	}
	return v
}
