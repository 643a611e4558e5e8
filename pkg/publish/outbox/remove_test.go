package outbox

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
)

func contains(tb testing.TB, dir, text string) (found bool) {
	tb.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			return nil // removed meanwhile
		}
		found = found || bytes.Contains(data, []byte(text))
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return found
}

const payload = "specversion"

//guarantee:outbox-cleaned
func TestPublisher_RemovesSentEvents(t *testing.T) {
	srv := natstest.Start(t)
	opts := testOptions(t, t.TempDir())
	opts.KeepSent = 20 * time.Millisecond
	p := mustOpen(t, srv.Connect(t), opts)
	for round := range 3 {
		appendMany(t, p, 10*round, 10*round+10)
		mustFlush(t, p)
		until(t, "nothing of it is on disk", func() bool { return !contains(t, opts.Dir, payload) })
	}
	kill(p)
	appendOnline(t, srv, opts, 30, 40)
	if contains(t, opts.Dir, payload) {
		t.Error("it is on disk after the end")
	}
	checkStream(t, srv).wantEvents(t, 0, 40)
}

//guarantee:outbox-cleaned
func TestPublisher_KeepsWaitingEvents(t *testing.T) {
	opts := testOptions(t, t.TempDir())
	opts.KeepSent = time.Nanosecond
	appendOffline(t, opts, 0, 10)
	srv := natstest.Start(t)
	p := mustOpen(t, srv.Connect(t), opts)
	mustClose(t, p)
	checkStream(t, srv).wantEvents(t, 0, 10)
}

//guarantee:outbox-cleaned
func TestOpenShared_RemovesSentEvents(t *testing.T) {
	srv := natstest.Start(t)
	opts := testOptions(t, t.TempDir())
	opts.Name, opts.Tenant, opts.KeepSent = "", "", time.Microsecond
	p := mustOpenSharedWith(t, srv, opts)
	const writers, each = 3, 40
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for n := range each {
				if _, err := AppendShared(t.Context(), opts.Dir, sharedOptions(), newEvent(w*each+n)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	mustFlush(t, p)
	until(t, "nothing of it is on disk", func() bool { return !contains(t, opts.Dir, payload) })
	mustClose(t, p)
	if h := checkStream(t, srv); len(h.events) != writers*each || len(h.gaps) > 0 {
		t.Errorf("%d events and gaps %+v, want %d and none", len(h.events), h.gaps, writers*each)
	}
}
