package consume_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
)

const inboxOfReader = "_INBOX.reader"

// readerRights contains no right that only the connection needs, such as reading about other
// streams.
func readerRights() subjects.Rights {
	r := subjects.RoleRights(subjects.Space{}, subjects.ReaderRole, "reader", inboxOfReader)
	r.Publish = slices.DeleteFunc(r.Publish, func(s string) bool {
		return strings.HasSuffix(s, "INFO.HOOKTRAIL_DLQ") || strings.HasSuffix(s, "INFO.HOOKTRAIL_ADV") ||
			strings.HasSuffix(s, "INFO.KV_HOOKTRAIL_CHECKPOINTS")
	})
	return r
}

// readAs reads an event and an invalid message with the rights r, with a durable that must be
// replaced. It returns the first error of Run, or nil after both messages were acknowledged.
func readAs(t *testing.T, r subjects.Rights) error {
	t.Helper()
	srv := natstest.Start(t, natstest.Options{Users: []natstest.User{{Name: "reader", Publish: r.Publish, Subscribe: r.Subscribe}}})
	admin := srv.JetStream(t)
	publish(t, admin, "acme", 1, 1)
	if _, err := admin.Publish(t.Context(), "hooktrail.ev.nobody", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.CreateConsumer(t.Context(), "HOOKTRAIL_EV", explicitConsumer("reader")); err != nil {
		t.Fatal(err)
	}
	js := srv.JetStream(t, nats.UserInfo("reader", "reader"), nats.CustomInboxPrefix(inboxOfReader))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	said := make(chan error, 1)
	opts := consume.Options{Durable: "reader", Progress: func(p consume.Progress) {
		if p.Err == nil && (p.Position.Sequence < 2 || !acknowledged(t, srv)) {
			return
		}
		select {
		case said <- p.Err:
		default:
		}
	}}
	ended := make(chan error, 1)
	go func() { ended <- consume.Run(ctx, js, opts, newMemory()) }()
	err := <-said
	cancel()
	if ended := <-ended; ended != nil {
		t.Error(ended)
	}
	return err
}

func acknowledged(t *testing.T, srv *natstest.Server) bool {
	t.Helper()
	c, err := srv.JetStream(t).Consumer(t.Context(), "HOOKTRAIL_EV", "reader")
	return err == nil && c.CachedInfo().AckFloor.Stream >= 2
}

//guarantee:right-missing
func TestRun_Rights(t *testing.T) {
	if err := readAs(t, readerRights()); err != nil {
		t.Errorf("with all of them: %v", err)
	}
	all := readerRights()
	for i, missing := range all.Publish {
		t.Run(missing, func(t *testing.T) {
			less := all
			less.Publish = slices.Delete(slices.Clone(all.Publish), i, i+1)
			wantRefusal(t, less, strings.TrimSuffix(missing, ">"))
		})
	}
	t.Run("inbox", func(t *testing.T) {
		less := all
		less.Subscribe = []string{"unused"}
		wantRefusal(t, less, "Subscription to")
	})
}

func wantRefusal(t *testing.T, r subjects.Rights, what string) {
	t.Helper()
	began := time.Now()
	err := readAs(t, r)
	if !errors.Is(err, broker.ErrPermission) || !strings.Contains(err.Error(), what) {
		t.Errorf("got %v, want a refusal that names %s", err, what)
	}
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("took %v: that is a timeout", took)
	}
}

func TestRun_DrainWithoutRights(t *testing.T) {
	srv := natstest.Start(t, natstest.Options{Users: []natstest.User{{Name: "reader", Publish: []string{"unused"}, Subscribe: []string{"_INBOX.>"}}}})
	js := srv.JetStream(t, nats.UserInfo("reader", "reader"))
	err := consume.Run(t.Context(), js, consume.Options{Durable: "reader", Drain: true}, newMemory())
	if !errors.Is(err, broker.ErrPermission) {
		t.Errorf("got %v, want %v", err, broker.ErrPermission)
	}
}
