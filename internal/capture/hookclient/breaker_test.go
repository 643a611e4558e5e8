package hookclient

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// After a hang the publisher is not asked for a second, and then probed. An answer or ten
// minutes end that.
func TestBreaker(t *testing.T) {
	now := time.Now()
	b := breaker{filepath.Join(t.TempDir(), "hung"), func() time.Time { return now }}
	check := func(step string, want time.Duration, broken bool) {
		t.Helper()
		if got, err := b.wait(5 * time.Second); got != want || errors.Is(err, errBroken) != broken {
			t.Errorf("%s: got %v, %v", step, got, err)
		}
	}
	check("at first", 5*time.Second, false)
	b.hung()
	check("at once", 0, true)
	now = now.Add(breakerPause)
	check("after the pause", breakerProbe, false)
	if got, _ := b.wait(time.Millisecond); got != time.Millisecond {
		t.Errorf("a short wait became %v", got)
	}
	b.hung()
	check("after a failed probe", 0, true)
	now = now.Add(breakerAge + time.Second)
	check("much later", 5*time.Second, false)
	now = now.Add(-breakerAge)
	b.hung()
	b.answered()
	check("after an answer", 5*time.Second, false)
	b.hung()
	now = now.Add(-time.Minute)
	check("with a wrong clock", 5*time.Second, false)
	if got := (&publisherClient{url: "unix:///run/p.sock", dataDir: t.TempDir()}).breaker(); got.file != "" {
		t.Errorf("a publisher at a socket has the breaker %s", got.file)
	}
	if err := os.Remove(b.file); err != nil {
		t.Error(err)
	}
}
