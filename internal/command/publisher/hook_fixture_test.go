package publisher

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/capture/hookclient"
	"github.com/hooktrail/hooktrail/internal/capture/hookclient/hookclienttest"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func execHook(tb testing.TB, dir, payload string, args ...string) hookclienttest.Output {
	tb.Helper()
	var out, errs bytes.Buffer
	cmd := Command()
	cmd.SetIn(strings.NewReader(payload))
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	status := cli.Execute(tb.Context(), cmd, append([]string{"hook", "--data-dir", dir}, args...))
	return hookclienttest.Output{Status: status, Stdout: out.String(), Stderr: errs.String()}
}

// recorded returns the events that hook commands left in a data directory. On a busy machine they
// can be in the spool.
func recorded(tb testing.TB, dir string) []events.Event {
	tb.Helper()
	if err := hookclient.Sweep(tb.Context(), dir); err != nil {
		tb.Fatal(err)
	}
	return hookclienttest.Forwarded(tb, natstest.Start(tb), dir)
}
