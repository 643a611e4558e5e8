package publisher

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/capture/hookclient/hookclienttest"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// emptied is an outbox that has no room at first.
type emptied struct {
	*recorder
	hasRoom bool
}

func (e *emptied) Append(ctx context.Context, ev events.Event) (events.Event, error) {
	if !e.hasRoom {
		return events.Event{}, publish.ErrFull
	}
	return e.recorder.Append(ctx, ev)
}

// A denial that found no room in the outbox is recorded when there is room again.
//
//guarantee:denial-without-room
func TestHookService_DenialWithoutRoom(t *testing.T) {
	_, b := open(t)
	for _, denials := range []int{1, maxOwed + 10} {
		for _, closed := range []bool{false, true} {
			to := &emptied{recorder: &recorder{}}
			service, err := NewHookService(parseHooks(t, hookclienttest.NoRemoval), to, Options{DataDir: t.TempDir(), Broker: b})
			if err != nil {
				t.Fatal(err)
			}
			h := Handler(to, HandlerOptions{Hooks: service})
			send := func(id, command string) {
				t.Helper()
				payload := strings.NewReplacer("rm -rf build/x", command, `"t1"`, `"`+id+`"`).Replace(hookclienttest.Removals[0].Payload)
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "http://127.0.0.1/v1/hooks/claude-code", strings.NewReader(payload)))
				if w.Code != http.StatusOK {
					t.Errorf("got %d %s", w.Code, w.Body)
				}
			}
			for i := range denials {
				send("d"+strconv.Itoa(i), "rm -rf build/x")
			}
			to.hasRoom = true
			if !closed {
				send("next", "ls")
			}
			service.close(context.Background())
			denied, lost := 0, 0
			for _, e := range to.list {
				if e.Denies() {
					denied++
				}
				if e.Kind() == events.Custom && strings.Contains(string(e.Data), `"lost":10`) {
					lost += 10
				}
			}
			if denied+lost != denials {
				t.Errorf("%d denials, closed %v: %d recorded, %d counted", denials, closed, denied, lost)
			}
		}
	}
}
