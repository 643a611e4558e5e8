package auditor

import (
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
)

//guarantee:erase-everywhere
func TestErase_TellsWhenTheStreamsCopyExpires(t *testing.T) {
	s := auditortest.Server(t)
	b, dir := auditortest.Connect(t, s), t.TempDir()
	publishText(t, auditortest.Outbox(t, b, "engine", "acme"), "run-1", "jane", "a sentence")
	drain(t, b, dir)
	stream := auditortest.EventStream(t, b)
	var done Change
	order(t, 0, &done, "erase", "--run", "run-1", "--reason", "subject request", "--data-dir", dir, "--tenant", "acme", "--nats-url", s.URL())
	age := stream.CachedInfo().Config.MaxAge
	if done.Stream != CopyKept || done.Expires == nil || time.Until(*done.Expires) > age || time.Until(*done.Expires) < age-auditortest.Limit {
		t.Errorf("the stream's copy: %s until %v, want it kept for %v", done.Stream, done.Expires, age)
	}
}

//guarantee:erase-everywhere
func TestCopyOf(t *testing.T) {
	first := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name   string
		last   time.Time
		maxAge time.Duration
		want   StreamCopy
	}{
		{"Kept", first.Add(time.Hour), time.Hour, CopyKept},
		{"KeptAsTheFirst", first, time.Hour, CopyKept},
		{"NoLimitOfAge", first, 0, CopyEndless},
		{"ExpiredBefore", first.Add(-time.Second), time.Hour, CopyGone},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, until := copyOf(c.last, first, c.maxAge)
			if got != c.want || (until != nil) != (got == CopyKept) || until != nil && !until.Equal(c.last.Add(c.maxAge)) {
				t.Errorf("got %s until %v, want %s", got, until, c.want)
			}
		})
	}
	if got, _ := copyOf(first, time.Time{}, time.Hour); got != CopyGone {
		t.Errorf("of an empty stream: got %s, want %s", got, CopyGone)
	}
}
