package outbox

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/atomicbatch"
)

// announced lists the manifests of a producer in tenant acme: the last number, the state, and the
// count of heartbeats.
func announced(tb testing.TB, srv *natstest.Server, producer string) (list []string) {
	tb.Helper()
	chain, err := srv.Space().Chain("acme", producer)
	if err != nil {
		tb.Fatal(err)
	}
	for _, msg := range srv.Messages(tb) {
		if msg.Subject != chain {
			continue
		}
		m, err := events.DecodeManifest(msg.Data)
		if err == nil {
			err = m.Validate()
		}
		if err != nil {
			tb.Fatal(err)
		}
		list = append(list, strings.TrimSpace(fmt.Sprintf("%d %s %d", m.Last, m.State, m.Beat)))
	}
	return list
}

func wantAnnounced(tb testing.TB, srv *natstest.Server, producer string, want ...string) {
	tb.Helper()
	if diff := cmp.Diff(want, announced(tb, srv, producer)); diff != "" {
		tb.Errorf("manifests of %s (-want +got):\n%s", producer, diff)
	}
}

// An open producer sends a manifest in each interval, closes an idle tenant, opens it with the next
// event, and closes at its end.
//
//guarantee:producer-heard
func TestAnnounce_OpenIdleClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := natstest.Start(t)
		opts := testOptions(t, t.TempDir())
		opts.Heartbeat, opts.KeepSent = 10*time.Minute, time.Second
		p := mustOpen(t, srv.Connect(t), opts)
		producer := p.Stats().Producer
		mustAppend(t, p, newEvent(0))
		time.Sleep(9 * time.Minute)
		wantAnnounced(t, srv, producer, "1 open 0")
		time.Sleep(12 * time.Minute)
		wantAnnounced(t, srv, producer, "1 open 0", "1 open 1", "1 open 2")
		if m, _ := lastOf(t, srv, srv.Connect(t), producer); m.Interval != 600 {
			t.Errorf("announced %d seconds", m.Interval)
		}
		mustAppend(t, p, newEvent(1))
		time.Sleep(25 * time.Hour)
		list := announced(t, srv, producer)
		if n := len(list); n != 4+idleBeats || list[n-1] != fmt.Sprintf("2 closed %d", idleBeats) {
			t.Errorf("%d manifests, the last is %s", n, list[n-1])
		}
		time.Sleep(100 * time.Hour)
		if n := len(announced(t, srv, producer)); n != len(list) {
			t.Errorf("%d manifests in an idle tenant", n-len(list))
		}
		mustAppend(t, p, newEvent(2))
		mustClose(t, p)
		wantAnnounced(t, srv, producer, append(list, "3 open 0", "3 closed 1")...)

		p = mustOpen(t, srv.Connect(t), opts)
		time.Sleep(time.Minute)
		wantAnnounced(t, srv, producer, append(list, "3 open 0", "3 closed 1")...) // short commands announce nothing
		time.Sleep(10 * time.Minute)
		wantAnnounced(t, srv, producer, append(list, "3 open 0", "3 closed 1", "3 open 2")...)
		mustClose(t, p)
	})
}

func TestAnnounce_Never(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := natstest.Start(t)
		opts := testOptions(t, t.TempDir())
		opts.Heartbeat = -1
		p := mustOpen(t, srv.Connect(t), opts)
		mustAppend(t, p, newEvent(0))
		time.Sleep(time.Hour)
		mustClose(t, p)
		wantAnnounced(t, srv, p.Stats().Producer, "1  0")
	})
}

// A killed producer does not close. The next process announces at once that it is open.
func TestAnnounce_Killed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := natstest.Start(t)
		opts := testOptions(t, t.TempDir())
		p := mustOpen(t, srv.Connect(t), opts)
		producer := p.Stats().Producer
		mustAppend(t, p, newEvent(0))
		mustFlush(t, p)
		kill(p)
		time.Sleep(time.Hour)
		p = mustOpen(t, srv.Connect(t), opts)
		time.Sleep(time.Second)
		wantAnnounced(t, srv, producer, "1 open 0", "1 open 1")
		mustClose(t, p)
		wantAnnounced(t, srv, producer, "1 open 0", "1 open 1", "1 closed 2")
	})
}

// The answers to heartbeats were lost, or another client sends old heartbeats again.
func TestAnnounce_UnansweredAndReplayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := natstest.Start(t)
		opts := testOptions(t, t.TempDir())
		p := mustOpen(t, srv.Connect(t), opts)
		producer := p.Stats().Producer
		mustAppend(t, p, newEvent(0))
		mustFlush(t, p)
		time.Sleep(time.Second)
		before := copyDir(t, opts.Dir)
		time.Sleep(11 * time.Minute)
		chain, err := srv.Space().Chain("acme", producer)
		if err != nil {
			t.Fatal(err)
		}
		msgs := srv.Messages(t)
		old := msgs[len(msgs)-1].Data
		time.Sleep(10 * time.Minute)
		kill(p)
		opts.Dir = before // knows no heartbeat
		p = mustOpen(t, srv.Connect(t), opts)
		time.Sleep(time.Second)
		wantAnnounced(t, srv, producer, "1 open 0", "1 open 1", "1 open 2", "1 open 3")

		if _, err := srv.JetStream(t).Publish(t.Context(), chain, old); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		mustAppend(t, p, newEvent(1))
		mustClose(t, p)
		if got := p.Stats().Producer; got != producer {
			t.Errorf("renumbered as %s", got)
		}
		wantArrived(t, srv, 0, 2)
	})
}

// The outbox announces the end of a producer id that a power cut made it give up.
func TestAnnounce_Renumbered(t *testing.T) {
	srv := natstest.Start(t)
	opts := testOptions(t, t.TempDir())
	opts.bootID = bootID("boot-1")
	p := mustOpen(t, srv.Connect(t), opts)
	appendMany(t, p, 0, 3)
	mustFlush(t, p)
	kill(p)
	old := p.Stats().Producer
	appendOffline(t, opts, 3, 5)
	opts.bootID = bootID("boot-2")
	p = appendOnline(t, srv, opts, 5, 6)
	if p.Stats().Producer == old {
		t.Fatal("kept the producer id")
	}
	list := announced(t, srv, old)
	if list[len(list)-1] != "3 closed 1" {
		t.Errorf("the old producer announced %v", list)
	}
	checkStream(t, srv).wantEvents(t, 0, 6)
}

func TestAnnounce_SharedOutboxWithEvents(t *testing.T) {
	srv := natstest.Start(t)
	opts := testOptions(t, t.TempDir())
	p, err := OpenShared(t.Context(), atomicbatch.Over(srv.Connect(t)), opts)
	if err != nil {
		t.Fatal(err)
	}
	mustAppend(t, p, newEvent(0))
	mustFlush(t, p)
	p.closing.Do(func() {
		p.cancel()
		<-p.done
		if _, err := AppendShared(t.Context(), opts.Dir, SharedOptions{Name: "test", Tenant: "acme", Redactor: NoRedaction}, newEvent(1)); err != nil {
			t.Error(err)
		}
		p.fwd.announceEnd(t.Context())
		p.fwd.disconnect()
		p.closed = p.lock.Close()
	})
	wantAnnounced(t, srv, p.Stats().Producer, "1 open 0")
}
