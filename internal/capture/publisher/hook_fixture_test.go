package publisher

import (
	"testing"

	"github.com/hooktrail/hooktrail/internal/capture/hookclient"
	"github.com/hooktrail/hooktrail/internal/capture/hookclient/hookclienttest"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// hookSays runs publisher hook on a payload.
func hookSays(tb testing.TB, dir, payload string, args ...string) hookclienttest.Said {
	tb.Helper()
	return hookclienttest.Says(tb, Command(), dir, payload, args...)
}

// recorded returns what hook commands have left in a data directory.
func recorded(tb testing.TB, dir string) []events.Event {
	tb.Helper()
	return recordedIn(tb, natstest.Start(tb), dir)
}

// recordedIn forwards what hook commands have left in a data directory, and
// returns what is in the stream then. On a busy machine it can lie in the spool.
func recordedIn(tb testing.TB, srv *natstest.Server, dir string) []events.Event {
	tb.Helper()
	if err := hookclient.Sweep(tb.Context(), dir); err != nil {
		tb.Fatal(err)
	}
	return hookclienttest.Forwarded(tb, srv, dir)
}
