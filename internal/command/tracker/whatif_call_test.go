package tracker

import (
	"errors"
	"testing"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/tracking/replay"
)

type whatifOutcome struct {
	Issues    []replay.Issue     `json:"issues"`
	Decisions []replay.Decision  `json:"decisions"`
	Against   *replay.Comparison `json:"against"`
}

func callWhatif(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	shared := new(cli.Shared)
	cmd := cli.Group("tracker", "", whatifCommand(shared, func(*cobra.Command, func(*broker.Broker) error) error {
		return errors.New("unexpected connection")
	}))
	shared.Register(cmd)
	return execute(t, cmd, append([]string{"whatif", "--data-dir", t.TempDir()}, args...))
}

func whatifJSON[T any](t *testing.T, args ...string) T {
	t.Helper()
	status, stdout, stderr := callWhatif(t, append(args, "--json")...)
	return decode[T](t, args, status, stdout, stderr)
}
