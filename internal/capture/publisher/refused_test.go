package publisher

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
)

// Events are accepted even if the user of the broker lacks a right, which the service
// reports.
//
//guarantee:right-missing
func TestRun_TellsOfMissingRights(t *testing.T) {
	rights := subjects.RoleRights(subjects.Space{}, subjects.PublisherRole, "publisher", broker.ExternalInbox(subjects.PublisherRole))
	var less []string
	for _, s := range rights.Publish {
		if s != "hooktrail.chain.>" {
			less = append(less, s)
		}
	}
	srv := natstest.Listen(t, t.TempDir(), natstest.Options{Users: []natstest.User{
		{Name: "publisher", Publish: less, Subscribe: rights.Subscribe, Responses: rights.Responses},
	}})
	b, err := broker.Open(t.Context(), broker.Options{
		URL: strings.Replace(srv.URL(), "//", "//publisher:publisher@", 1), Role: subjects.PublisherRole,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	r := runServer(t, Options{Broker: b, DataDir: t.TempDir()})
	if status, body := r.post(t, one("kept")); status != http.StatusAccepted {
		t.Fatalf("got %d %s", status, body)
	}
	deadline := time.Now().Add(20 * time.Second)
	for want := `permissions do not allow it: Publish to "hooktrail.chain.`; ; {
		status, body := r.get(t, "/readyz")
		if status == http.StatusOK && strings.Contains(body, want) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("readyz: got %d %s", status, body)
		}
	}
	for _, w := range b.Warnings() {
		if strings.Contains(w, "hooktrail.chain.") {
			return
		}
	}
	t.Errorf("warnings: got %q", b.Warnings())
}
