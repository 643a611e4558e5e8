package hooksocket

import (
	"errors"
	"os"
	"testing"
	"time"
)

// After a hang the publisher is not asked for a second, and then probed. At a URL it is asked with
// a short wait, because the user of the agent could write the file. An answer or ten minutes end
// that.
func TestBreaker(t *testing.T) {
	for _, tt := range []struct {
		url          string
		pause, probe time.Duration
		broken       bool
	}{
		{"", 0, QuickResponse, true},
		{"unix:///run/p.sock", localWait, QuickResponse, false},
		{"https://example.com", QuickResponse, remoteWait, false},
	} {
		t.Run(tt.url, func(t *testing.T) {
			now := time.Now()
			b := BreakerOf(t.TempDir(), tt.url)
			b.now = func() time.Time { return now }
			check := func(step string, want time.Duration, broken bool) {
				t.Helper()
				if got, err := b.Wait(5 * time.Second); got != want || errors.Is(err, ErrBroken) != broken {
					t.Errorf("%s: got %v, %v", step, got, err)
				}
			}
			check("at first", 5*time.Second, false)
			b.Hung()
			check("at once", tt.pause, tt.broken)
			now = now.Add(breakerPause)
			check("after the pause", tt.probe, false)
			if got, _ := b.Wait(time.Millisecond); got != time.Millisecond {
				t.Errorf("a short wait became %v", got)
			}
			b.Hung()
			check("after a failed probe", tt.pause, tt.broken)
			now = now.Add(breakerAge + time.Second)
			check("much later", 5*time.Second, false)
			now = now.Add(-breakerAge)
			b.Hung()
			if !b.IsOpen() {
				t.Error("not open")
			}
			b.Answered()
			check("after an answer", 5*time.Second, false)
			b.Hung()
			now = now.Add(-time.Minute)
			check("with a wrong clock", 5*time.Second, false)
			if err := os.Remove(b.file); err != nil {
				t.Error(err)
			}
		})
	}
}
