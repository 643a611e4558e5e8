package hooktrail

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// supervised runs a part in a bubble until the test ends it.
func supervised(t *testing.T, run func(ctx context.Context, report report) error) (p *part, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	p = newPart("auditor", run)
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.supervise(ctx, slog.New(slog.DiscardHandler))
	}()
	return p, func() {
		cancel()
		<-done
	}
}

func expect(t *testing.T, p *part, state PartState, restarts int) {
	t.Helper()
	synctest.Wait()
	if got := p.current(); got.State != state || got.Restarts != restarts {
		t.Errorf("got %s after %d restarts, want %s after %d", got.State, got.Restarts, state, restarts)
	}
}

func TestPart_RunsAndStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ready := make(chan error)
		p, stop := supervised(t, func(ctx context.Context, report report) error {
			for {
				select {
				case err := <-ready:
					report(err, 7)
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		})
		expect(t, p, PartStarting, 0)
		ready <- nil
		expect(t, p, PartRunning, 0)
		ready <- errors.New("disk is full")
		expect(t, p, PartStuck, 0)
		if got := p.current(); got.Error != "disk is full" || got.Lag != 7 {
			t.Errorf("got error %q and lag %d", got.Error, got.Lag)
		}
		ready <- nil
		expect(t, p, PartRunning, 0)
		stop()
		expect(t, p, PartStopped, 0)
	})
}

func TestPart_BacksOffAndComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		healthy := time.Now().Add(3 * time.Second)
		p, stop := supervised(t, func(ctx context.Context, report report) error {
			if time.Now().Before(healthy) {
				return errors.New("ledger: locked")
			}
			report(nil, 0)
			<-ctx.Done()
			return nil
		})
		expect(t, p, PartWaiting, 1) // tries at 0, 0.5, 1.5 and 3.5 s
		if got := p.current().Error; got != "ledger: locked" {
			t.Errorf("got error %q", got)
		}
		time.Sleep(3500 * time.Millisecond)
		expect(t, p, PartRunning, 3)
		if got := p.current().Error; got != "" {
			t.Errorf("runs, and still reports %q", got)
		}
		stop()
	})
}

func TestPart_EndsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, stop := supervised(t, func(context.Context, report) error { return nil })
		expect(t, p, PartWaiting, 1)
		if got := p.current().Error; got != errEnded.Error() {
			t.Errorf("got error %q, want %q", got, errEnded)
		}
		stop() // while it waits
		expect(t, p, PartStopped, 1)
	})
}

func TestPart_PauseIsBoundedAndForgiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var began []time.Time
		long := 20 // this attempt runs for long
		p, stop := supervised(t, func(ctx context.Context, _ report) error {
			began = append(began, time.Now())
			if len(began) == long {
				sleep(ctx, forgiven)
			}
			return errors.New("no")
		})
		time.Sleep(time.Hour)
		synctest.Wait()
		stop()
		if got := began[long-1].Sub(began[long-2]); got != longPause {
			t.Errorf("got a pause of %v after many failures, want %v", got, longPause)
		}
		if got := began[long].Sub(began[long-1]); got != forgiven+firstPause {
			t.Errorf("got a pause of %v after a long run, want %v", got-forgiven, firstPause)
		}
		expect(t, p, PartStopped, len(began))
	})
}
