package hookclient

import (
	"testing"

	"github.com/hooktrail/hooktrail/internal/capture/hookclient/hookclienttest"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// says runs the command on a payload.
func says(tb testing.TB, dir, payload string, args ...string) hookclienttest.Said {
	tb.Helper()
	shared := &cli.Shared{}
	publisher := cli.Group("publisher", "The command that has hook", Command(shared))
	shared.Register(publisher)
	return hookclienttest.Says(tb, publisher, dir, payload, args...)
}

// recorded returns what hook commands have left in a data directory. On a busy
// machine it can lie in the spool.
func recorded(tb testing.TB, dir string) []events.Event {
	tb.Helper()
	if err := Sweep(tb.Context(), dir); err != nil {
		tb.Fatal(err)
	}
	return hookclienttest.Forwarded(tb, natstest.Start(tb), dir)
}
