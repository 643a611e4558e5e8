package publisher

import (
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
	"github.com/hooktrail/hooktrail/internal/capture/hookclient"
	"github.com/hooktrail/hooktrail/internal/capture/hookclient/extended"
	"github.com/hooktrail/hooktrail/internal/capture/hookclient/hookclienttest"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func answerHook(tb testing.TB, r hookclienttest.Removal, opts hookclient.Options) hookclienttest.Output {
	tb.Helper()
	var err error
	if opts.Tool, err = agents.Named(r.Tool); err != nil {
		tb.Fatal(err)
	}
	opts.Event, opts.Timeout, opts.Parts = r.Event, hookclient.DefaultTimeout, extended.Parts()
	got := hookclient.Answer(tb.Context(), strings.NewReader(r.Payload), opts)
	got.Close(tb.Context())
	return hookclienttest.Output{
		Status: got.Reply.Exit, Stdout: string(got.Reply.Stdout), Stderr: got.Reply.Stderr + strings.Join(got.Problems, "\n"),
	}
}

func recorded(tb testing.TB, dir string) []events.Event {
	tb.Helper()
	return recordedIn(tb, natstest.Start(tb), dir)
}

// recordedIn forwards the events that hooks left in a data directory, including the
// spool, and returns all events of the stream.
func recordedIn(tb testing.TB, srv *natstest.Server, dir string) []events.Event {
	tb.Helper()
	if err := hookclient.Sweep(tb.Context(), dir); err != nil {
		tb.Fatal(err)
	}
	return hookclienttest.Forwarded(tb, srv, dir)
}
