package app

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

func supervised(t *testing.T, run func(ctx context.Context, report report) error) (p *service, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	p = newService("auditor", run)
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

func expect(t *testing.T, p *service, state ServiceState, restarts int) {
	t.Helper()
	synctest.Wait()
	if got := p.current(); got.State != state || got.Restarts != restarts {
		t.Errorf("got %s after %d restarts, want %s after %d", got.State, got.Restarts, state, restarts)
	}
}

func TestService_RunsAndStops(t *testing.T) {
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
		expect(t, p, Starting, 0)
		ready <- nil
		expect(t, p, Running, 0)
		ready <- errors.New("disk is full")
		expect(t, p, Stuck, 0)
		if got := p.current(); got.Error != "disk is full" || got.Lag != 7 {
			t.Errorf("got error %q and lag %d", got.Error, got.Lag)
		}
		ready <- nil
		expect(t, p, Running, 0)
		stop()
		expect(t, p, Stopped, 0)
	})
}

//guarantee:service-fails
func TestService_BacksOffAndComesBack(t *testing.T) {
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
		expect(t, p, Waiting, 1) // attempts at 0, 0.5, 1.5 and 3.5 s
		if got := p.current().Error; got != "ledger: locked" {
			t.Errorf("got error %q", got)
		}
		time.Sleep(3500 * time.Millisecond)
		expect(t, p, Running, 3)
		if got := p.current().Error; got != "" {
			t.Errorf("runs, and still reports %q", got)
		}
		stop()
	})
}

func TestService_EndsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, stop := supervised(t, func(context.Context, report) error { return nil })
		expect(t, p, Waiting, 1)
		if got := p.current().Error; got != errEnded.Error() {
			t.Errorf("got error %q, want %q", got, errEnded)
		}
		stop() // during a pause
		expect(t, p, Stopped, 1)
	})
}

func TestService_PauseIsBoundedAndReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var began []time.Time
		long := 20 // this attempt runs for long
		p, stop := supervised(t, func(ctx context.Context, _ report) error {
			began = append(began, time.Now())
			if len(began) == long {
				sleep(ctx, stableAfter)
			}
			return errors.New("no")
		})
		time.Sleep(time.Hour)
		synctest.Wait()
		stop()
		if got := began[long-1].Sub(began[long-2]); got != maxPause {
			t.Errorf("got a pause of %v after many failures, want %v", got, maxPause)
		}
		if got := began[long].Sub(began[long-1]); got != stableAfter+firstPause {
			t.Errorf("got a pause of %v after a long run, want %v", got-stableAfter, firstPause)
		}
		expect(t, p, Stopped, len(began))
	})
}
