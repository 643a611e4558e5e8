package anchor

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// The timeout of a round is not a failure. The next round begins with the tenants that were missed.
func TestUploads_TimeIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var uploaded []string
		r := newUploads(Options{}.withDefaults(), "somewhere", func(_ context.Context, tenant string) error {
			time.Sleep(time.Second)
			uploaded = append(uploaded, tenant)
			return nil
		})
		r.timeout = 2500 * time.Millisecond
		for round := range 2 {
			for i := range 6 {
				r.changed(fmt.Sprint("t", i))
			}
			r.round(t.Context())
			if err := r.failure(); err != nil {
				t.Errorf("round %d: %v", round, err)
			}
		}
		if got, want := fmt.Sprint(uploaded), "[t0 t1 t2 t3 t4 t5]"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

func TestUploads_LastTakesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		uploaded := 0
		r := newUploads(Options{}.withDefaults(), "somewhere", func(context.Context, string) error {
			time.Sleep(time.Second)
			uploaded++
			return nil
		})
		r.timeout = 2500 * time.Millisecond
		for i := range 10 {
			r.changed(fmt.Sprint("t", i))
		}
		(&Anchors{all: []*uploads{r}}).Finish(t.Context())
		if uploaded != 10 {
			t.Errorf("got %d, want all 10", uploaded)
		}
	})
}

// A stop interrupts an upload. That is no failure, because the last round repeats it.
func TestUploads_Stopped(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	uploaded := 0
	u := newUploads(Options{}.withDefaults(), "somewhere", func(ctx context.Context, _ string) error {
		stop()
		if uploaded++; ctx.Err() != nil {
			return errors.New("interrupted")
		}
		return nil
	})
	u.changed("acme")
	u.round(ctx)
	if err := u.failure(); err != nil {
		t.Errorf("after a stop: %v", err)
	}
	if u.finish(t.Context()); uploaded != 2 || u.failure() != nil {
		t.Errorf("%d uploads, %v", uploaded, u.failure())
	}
}
