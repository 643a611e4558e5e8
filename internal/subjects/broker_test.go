package subjects_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// A real server stores messages on all subjects, even the longest, and delivers them only to their
// tenant.
//
//guarantee:id-hostile
func TestSubjectsOnARealServer(t *testing.T) {
	server := natstest.Start(t)
	server.EnsureStreams(t)
	nc := server.Connect(t)
	space := server.Space()

	ids := []string{"", "a.b", "*", ">", " ", "ünï 🌎", "$JS.API", strings.Repeat(".", subjects.MaxID)}
	for _, id := range ids {
		subject, err := space.Event(id, id, id, events.Kind(id))
		if err != nil {
			t.Fatal(err)
		}
		mine, others := subscribe(t, nc, space, id), subscribe(t, nc, space, id+"x"[:min(1, subjects.MaxID-len(id))])
		reply, err := nc.Request(subject, []byte("{}"), 5*time.Second)
		if err != nil || strings.Contains(string(reply.Data), "error") {
			t.Fatalf("publish for %q: %v: %s", id, err, reply.Data)
		}
		msg, err := mine.NextMsg(5 * time.Second)
		if err != nil {
			t.Fatalf("%q is not delivered to its own tenant: %v", id, err)
		}
		a, err := space.Parse(msg.Subject)
		if want := (subjects.Address{Tenant: id, Producer: id, Run: id, Kind: events.Kind(id)}); err != nil || a != want {
			t.Errorf("got %+v, %v, want %+v", a, err, want)
		}
		// The messages came before the flush, so they have been delivered now.
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
		if n, _, err := others.Pending(); len(id) < subjects.MaxID && (n != 0 || err != nil) {
			t.Errorf("%q is delivered to another tenant: %d, %v", id, n, err)
		}
	}
}

func subscribe(t *testing.T, nc *nats.Conn, space subjects.Space, tenant string) *nats.Subscription {
	t.Helper()
	filters, err := space.Tenant(tenant)
	if err != nil {
		t.Fatal(err)
	}
	sub, err := nc.SubscribeSync(filters[0])
	if err != nil {
		t.Fatal(err)
	}
	return sub
}
