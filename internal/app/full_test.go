package app

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
)

// A publisher that refuses events is not ready, until its outbox has room.
//
//guarantee:outbox-full
func TestReadiness_FullOutbox(t *testing.T) {
	srv := natstest.Listen(t, t.TempDir(), natstest.Options{})
	r := startUp(t, t.TempDir(), func(o *Options) { o.NATSURL, o.Quota = srv.URL(), 4000 })
	r.until(t, "ready", isReady)
	srv.Stop()
	refused := false
	for i := 0; i < 100 && !refused; i++ {
		status, _, err := ask(http.Post(r.HTTP+"/v1/events", "application/cloudevents+json", strings.NewReader(fmt.Sprintf(
			`{"specversion":"1.0","id":"full-%d","source":"/engine","type":"hooktrail.custom","runid":"r1","time":"2026-01-01T00:00:00Z","data":{"name":"n"}}`, i))))
		if err != nil {
			t.Fatal(err)
		}
		refused = status == http.StatusServiceUnavailable
	}
	r.until(t, "a publisher with a full outbox", func(status int, services map[string]ServiceStatus) bool {
		p := services[publisherName]
		return status == http.StatusServiceUnavailable && p.State == Stuck && strings.HasPrefix(p.Error, "outbox is full: quota reached")
	})
	srv.Restart(t)
	r.until(t, "ready again", isReady)
}
