package outbox

import (
	"sync"
	"testing"

	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/atomicbatch"
)

// A server that is flooded drops messages, also within a batch. The forwarder must not take that
// for a refusal of an event.
//
//guarantee:guest-flood
func TestForwarder_Overload(t *testing.T) {
	srv := natstest.Start(t, natstest.Options{MaxQueued: 2})
	opts := testOptions(t, t.TempDir())
	opts.BatchEvents = 2
	p, err := Open(t.Context(), atomicbatch.Over(srv.Connect(t)), opts)
	if err != nil {
		t.Fatal(err)
	}
	guest := srv.Connect(t)
	var flooding sync.WaitGroup
	for range 2 {
		flooding.Go(func() {
			for range 200_000 {
				if err := guest.Publish("hooktrail.ev.acme.guest.run.custom", []byte("{}")); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	appendMany(t, p, 0, 20)
	flooding.Wait()
	mustFlush(t, p)
	if s := p.Stats(); s.Pending != 0 || s.Refused != 0 {
		t.Errorf("%d events wait, and %d are given up", s.Pending, s.Refused)
	}
	mustClose(t, p)
}
