package tracker

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/tracking/replay"
)

// whatifOutcome is the output of whatif --json.
type whatifOutcome struct {
	Issues    []replay.Issue     `json:"issues"`
	Decisions []replay.Decision  `json:"decisions"`
	Against   *replay.Comparison `json:"against"`
}

// callWhatif runs the command without a broker and returns its exit status and output.
func callWhatif(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	shared := new(cli.Shared)
	cmd := cli.Group("tracker", "", whatifCommand(shared, func(*cobra.Command, func(*broker.Broker) error) error {
		return errors.New("unexpected connection")
	}))
	shared.Register(cmd)
	var out, errs bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	status = cli.Execute(t.Context(), cmd, append([]string{"whatif", "--data-dir", t.TempDir()}, args...))
	return status, out.String(), errs.String()
}

func whatifJSON[T any](t *testing.T, args ...string) (v T) {
	t.Helper()
	status, stdout, stderr := callWhatif(t, append(args, "--json")...)
	if status != cli.ExitOK {
		t.Fatalf("whatif %v: exit status %d: %s", args, status, stderr)
	}
	if err := json.Unmarshal([]byte(stdout), &v); err != nil {
		t.Fatalf("whatif %v: %v in %s", args, err, stdout)
	}
	return v
}
