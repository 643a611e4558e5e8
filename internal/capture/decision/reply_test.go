package decision

import (
	"errors"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
)

// The caller chooses the reply subject, but the service has more rights than the
// caller. It therefore must not reply to subjects of events or of the server.
//
//guarantee:reply-foreign
func TestForeignReply(t *testing.T) {
	srv := natstest.Start(t, natstest.Options{NoStreams: true})
	nc := srv.Connect(t)
	places := map[string]int{
		"mine.answers": 1, "$JS.API.STREAM.NAMES": 0, "hooktrail.ev.other.p.r.custom": 0,
		"hooktrail.chain.other.p": 0, "hooktrail.dlq.auditor": 0,
	}
	subs := map[string]*nats.Subscription{}
	for place := range places {
		var err error
		if subs[place], err = nc.SubscribeSync(place); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("Asked", func(t *testing.T) { // the subtest returns after all requests are answered
		run(t, New(Options{Registry: answers(t, nil, nil)}), srv.Connect(t))
		for place := range places {
			if err := errors.Join(nc.PublishRequest("hooktrail.decide.acme", place, []byte(rm)), nc.Flush()); err != nil {
				t.Fatal(err)
			}
		}
	})
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	for place, want := range places {
		if got, _, err := subs[place].Pending(); got != want {
			t.Errorf("%s: got %d answers, %v, want %d", place, got, err, want)
		}
	}
}
