package outbox

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/atomicbatch"
)

var rights = []string{"hooktrail.ev.>", "hooktrail.chain.>", "$JS.API.DIRECT.GET.HOOKTRAIL_EV.hooktrail.chain.>"}

// A missing permission is reported in the words of the server, long before a timeout. The events
// wait.
//
//guarantee:right-missing
func TestPermission_Refused(t *testing.T) {
	for i, missing := range rights {
		t.Run(missing, func(t *testing.T) {
			less := append(append([]string{"unused"}, rights[:i]...), rights[i+1:]...)
			p, _ := openAs(t, natstest.User{Publish: less, Subscribe: []string{"_INBOX.>"}})
			mustAppend(t, p, newEvent(0))
			wantRefusal(t, p, strings.TrimSuffix(missing, ">"))
			if s := p.Stats(); s.Pending != 1 || s.Refused != 0 {
				t.Errorf("got %d events waiting and %d given up, want 1 and none", s.Pending, s.Refused)
			}
		})
	}
}

//guarantee:right-missing
func TestPermission_OneKind(t *testing.T) {
	p, nc := openAs(t, natstest.User{
		Publish:   append([]string{"hooktrail.ev.*.*.*.gap=2Erecorded"}, rights[1:]...),
		Subscribe: []string{"_INBOX.>"},
	})
	mustAppend(t, p, newEvent(0))
	wantRefusal(t, p, "hooktrail.ev.")
	// More attempts than it takes to give up a refused event.
	until(t, "some attempts", func() bool { return nc.Stats().OutMsgs > 16 })
	if s := p.Stats(); s.Pending != 1 || s.Refused != 0 {
		t.Errorf("got %d events waiting and %d given up, want 1 and none", s.Pending, s.Refused)
	}
}

func TestPermission_NoInbox(t *testing.T) {
	p, _ := openAs(t, natstest.User{Publish: rights, Subscribe: []string{"unused"}})
	mustAppend(t, p, newEvent(0))
	wantRefusal(t, p, "Subscription to")
}

func TestPermission_Enough(t *testing.T) {
	p, _ := openAs(t, natstest.User{Publish: rights, Subscribe: []string{"_INBOX.>"}})
	mustAppend(t, p, newEvent(0))
	mustFlush(t, p)
	if err := p.Stats().LastError; err != nil {
		t.Errorf("got %v, want nothing", err)
	}
}

func openAs(t *testing.T, u natstest.User) (*Publisher, *nats.Conn) {
	t.Helper()
	u.Name = "user"
	srv := natstest.Start(t, natstest.Options{Users: []natstest.User{u}})
	nc := srv.Connect(t, nats.UserInfo(u.Name, u.Name))
	p, err := Open(t.Context(), atomicbatch.Over(nc), testOptions(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = p.Close(ctx) // events may still wait
	})
	return p, nc
}

// Close does not wait for a right that is missing. The events stay.
//
//guarantee:right-missing
func TestPermission_Close(t *testing.T) {
	p, _ := openAs(t, natstest.User{
		Publish:   append([]string{"hooktrail.ev.*.*.*.gap=2Erecorded"}, rights[1:]...),
		Subscribe: []string{"_INBOX.>"},
	})
	mustAppend(t, p, newEvent(0))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := p.Close(ctx); !errors.Is(err, ErrPermission) || ctx.Err() != nil || !strings.Contains(err.Error(), "flush: 1 events wait") {
		t.Errorf("got %v", err)
	}
}

// wantRefusal checks that Flush names the missing permission before any timeout.
func wantRefusal(t *testing.T, p *Publisher, what string) {
	t.Helper()
	began := time.Now()
	until(t, "the refusal", func() bool { return errors.Is(p.Stats().LastError, ErrPermission) })
	if took := time.Since(began); took > defaultAckWait/2 {
		t.Errorf("took %v: that is a timeout", took)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := p.Flush(ctx); !errors.Is(err, ErrPermission) || !strings.Contains(err.Error(), what) {
		t.Errorf("got %v, want a refusal that names %s", err, what)
	}
}
