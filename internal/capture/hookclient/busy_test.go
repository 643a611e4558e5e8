package hookclient

import (
	"context"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/hooksocket"
)

// A publisher without a place is asked again while there is time. Other refusals are final, and so
// is a refusal of events, which wait in the spool.
//
//guarantee:intake-bounded
func TestPublisherClient_Busy(t *testing.T) {
	busy := hooksocket.Header{"hooktrail-busy": "1", "retry-after": "1"}
	for _, tt := range []struct {
		name   string
		wait   time.Duration
		header hooksocket.Header
		free   int // number of the request that finds a place
		asked  int
		ok     bool
	}{
		{"FreeLater", 5 * time.Second, busy, 3, 3, true},
		{"NeverFree", 5 * time.Second, busy, 100, 5, false},
		{"LongPause", 5 * time.Second, hooksocket.Header{"hooktrail-busy": "1", "retry-after": "60"}, 2, 1, false},
		{"NoPause", 5 * time.Second, hooksocket.Header{"hooktrail-busy": "1"}, 2, 2, true},
		{"FullOutbox", 5 * time.Second, hooksocket.Header{"retry-after": "1"}, 2, 1, false},
		{"Events", quickResponse, busy, 2, 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				p := &publisherClient{url: "http://publisher", dataDir: t.TempDir(), parts: Parts{Post: func(_ context.Context, _ *url.URL, _ hooksocket.Request, started func()) (hooksocket.Response, error) {
					started()
					if asked++; asked < tt.free {
						return hooksocket.Response{Code: 429, Status: "429 Too Many Requests", Header: tt.header}, nil
					}
					return hooksocket.Response{Code: 200}, nil
				}}}
				start := time.Now()
				_, err := p.post(t.Context(), "/", "application/json", nil, tt.wait)
				if (err == nil) != tt.ok || asked != tt.asked || time.Since(start) > tt.wait {
					t.Errorf("asked %d times in %v, %v", asked, time.Since(start), err)
				}
			})
		})
	}
}
