package anchor

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// A round that is over has not failed for those whom it did not come to: they are the
// first of the next one, however many come before them by name.
func TestRounds_TimeIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var brought []string
		r := newRounds(Options{}.withDefaults(), "somewhere", func(_ context.Context, tenant string) error {
			time.Sleep(time.Second)
			brought = append(brought, tenant)
			return nil
		})
		r.limit = 2500 * time.Millisecond
		for round := range 2 {
			for i := range 6 {
				r.changed(fmt.Sprint("t", i))
			}
			r.round(t.Context())
			if err := r.failure(); err != nil {
				t.Errorf("round %d: %v", round, err)
			}
		}
		if got, want := fmt.Sprint(brought), "[t0 t1 t2 t3 t4 t5]"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// At the end, all are brought.
func TestRounds_LastTakesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		brought := 0
		r := newRounds(Options{}.withDefaults(), "somewhere", func(context.Context, string) error {
			time.Sleep(time.Second)
			brought++
			return nil
		})
		r.limit = 2500 * time.Millisecond
		for i := range 10 {
			r.changed(fmt.Sprint("t", i))
		}
		(&Keepers{all: []*rounds{r}}).Finish(t.Context())
		if brought != 10 {
			t.Errorf("got %d, want all 10", brought)
		}
	})
}
