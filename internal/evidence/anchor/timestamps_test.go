package anchor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor/timestamp"
	"github.com/hooktrail/hooktrail/internal/evidence/anchor/timestamp/timestamptest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

// grow appends a leaf to the ledger of tenant. number is above those before.
func (l ledgers) grow(tb testing.TB, tenant string, number uint64) {
	tb.Helper()
	key, err := writer.OpenKey(filepath.Join(l.dir, "keys"))
	if err != nil {
		tb.Fatal(err)
	}
	set := writer.OpenSet(l.dir, writer.Options{Key: key})
	one, err := set.Ledger(tb.Context(), tenant)
	if err == nil {
		_, err = one.Append(tb.Context(), ledger.Stream{Epoch: 1, Created: time.Unix(1, 0)}, []ledger.Message{{
			Sequence: number, Stored: time.Unix(3, 0), Data: fmt.Append(nil, number),
			Address: subjects.Address{Tenant: tenant, Producer: "p", Run: "r", Kind: "custom"},
		}})
	}
	if err = errors.Join(err, set.Close()); err != nil {
		tb.Fatal(err)
	}
}

// stamps returns the time stamps of tenant.
func (l ledgers) stamps(tb testing.TB, tenant string) []timestamp.Stored {
	tb.Helper()
	path, err := ledger.Path(l.dir, tenant)
	if err != nil {
		tb.Fatal(err)
	}
	all, err := timestamp.All(path)
	if err != nil {
		tb.Fatal(err)
	}
	return all
}

// stamping is an anchor with a clock that the test sets.
type stamping struct {
	*timestampAnchor

	now time.Time
	log bytes.Buffer
}

func (l ledgers) stamping(tb testing.TB, url string) *stamping {
	tb.Helper()
	s := &stamping{now: time.Now()}
	u, err := timestamp.ParseURL(url)
	if err != nil {
		tb.Fatal(err)
	}
	s.timestampAnchor = newTimestampAnchor(Options{
		LedgerDir: l.dir, Keys: note.VerifierList(l.key), Timestamps: Timestamps{URL: u},
		Now: func() time.Time { return s.now }, Logger: slog.New(slog.NewTextHandler(&s.log, nil)),
	}.withDefaults())
	tb.Cleanup(s.uploads.release)
	return s
}

func (s *stamping) round(tb testing.TB, tenants ...string) error {
	tb.Helper()
	s.uploads.queue(tenants)
	s.uploads.round(tb.Context())
	return s.uploads.failure()
}

// A ledger that grows gets one time stamp per interval, also after a restart.
//
//guarantee:timestamps
func TestTimestamps_OnePerInterval(t *testing.T) {
	a, l := timestamptest.New(t, timestamptest.Options{}), newLedgers(t, "acme")
	s := l.stamping(t, a.URL)
	want := func(requests int64, stored int) {
		t.Helper()
		if got := l.stamps(t, "acme"); a.Hits() != requests || len(got) != stored {
			t.Fatalf("got %d requests and %d time stamps, want %d and %d", a.Hits(), len(got), requests, stored)
		}
	}
	for range 3 { // the ledger does not grow meanwhile
		if err := s.round(t, "acme", "nobody"); err != nil {
			t.Fatal(err)
		}
	}
	want(1, 1)
	got := l.stamps(t, "acme")[0]
	token, err := timestamp.Parse(got.Token)
	if err != nil || string(got.Note) != l.newest(t, "acme") || token.Covers(got.Note) != nil {
		t.Fatalf("got %+v, %v", got, err)
	}
	if _, err := token.Verify(a.Pool(t)); err != nil {
		t.Error(err)
	}

	l.grow(t, "acme", 10)
	s = l.stamping(t, a.URL) // a restart
	if err := s.round(t, "acme"); err != nil {
		t.Fatal(err)
	}
	want(1, 1)
	s.now = s.now.Add(DefaultTimestampInterval - time.Minute)
	_ = s.round(t) // the ledger still waits
	want(1, 1)
	s.now = s.now.Add(2 * time.Minute)
	if err := s.round(t); err != nil {
		t.Fatal(err)
	}
	want(2, 2)
	s.now = s.now.Add(2 * DefaultTimestampInterval)
	_ = s.round(t, "acme") // it has not grown since
	want(2, 2)
	if all := l.stamps(t, "acme"); string(all[1].Note) != l.newest(t, "acme") {
		t.Errorf("got %s", all[1].Note)
	}
}

// A damaged file and a clock of the authority that is ahead stop nothing.
func TestTimestamps_OddFiles(t *testing.T) {
	a, l := timestamptest.New(t, timestamptest.Options{}), newLedgers(t, "acme")
	s := l.stamping(t, a.URL)
	s.now = s.now.Add(-100 * time.Hour) // the clock of the authority is ahead
	if err := s.round(t, "acme"); err != nil {
		t.Fatal(err)
	}
	path, err := ledger.Path(l.dir, "acme")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(timestamp.Dir(path), "9999.timestamp"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	l.grow(t, "acme", 10)
	again := l.stamping(t, a.URL)
	again.now = s.now
	if err := again.round(t, "acme"); err != nil || a.Hits() != 1 {
		t.Fatalf("got %v, %d requests", err, a.Hits())
	}
	again.now = s.now.Add(DefaultTimestampInterval)
	if err := again.round(t); err != nil || a.Hits() != 2 {
		t.Errorf("got %v, %d requests", err, a.Hits())
	}
}

// After a failure of the authority, all ledgers wait, longer and longer. The failure is reported
// until it is over.
//
//guarantee:timestamps
func TestTimestamps_AuthorityFails(t *testing.T) {
	a, l := timestamptest.New(t, timestamptest.Options{}), newLedgers(t, "acme", "other")
	a.Answer(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusServiceUnavailable) })
	s := l.stamping(t, a.URL)
	s.uploads.workers = 1
	for _, pause := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		before := a.Hits()
		if err := s.round(t, "acme", "other"); err == nil || !strings.Contains(err.Error(), "status 503") || !strings.Contains(err.Error(), a.URL) {
			t.Fatalf("got %v", err)
		}
		s.now = s.now.Add(pause - time.Millisecond)
		if err := s.round(t); err == nil || a.Hits() != before+1 {
			t.Fatalf("got %v, %d requests in a pause of %s", err, a.Hits()-before, pause)
		}
		s.now = s.now.Add(time.Millisecond)
	}
	a.Answer(nil)
	if err := s.round(t); err != nil {
		t.Error(err)
	}
	if len(l.stamps(t, "acme")) != 1 || len(l.stamps(t, "other")) != 1 {
		t.Error("a time stamp is missing")
	}
	if log := s.log.String(); strings.Count(log, "checkpoint upload failed") != 2 || strings.Count(log, "works again") != 2 {
		t.Errorf("got\n%s", log)
	}
}

// A stop does not wait for an authority that hangs.
//
//guarantee:timestamps
func TestTimestamps_AuthorityHangs(t *testing.T) {
	a, l := timestamptest.New(t, timestamptest.Options{}), newLedgers(t, "acme")
	asked := make(chan struct{}, 8)
	a.Answer(func(_ http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body) // the server notices a closed connection only after the body
		asked <- struct{}{}
		<-req.Context().Done()
	})
	u, err := timestamp.ParseURL(a.URL)
	if err != nil {
		t.Fatal(err)
	}
	k := New(Options{LedgerDir: l.dir, Keys: note.VerifierList(l.key), Timestamps: Timestamps{URL: u}})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { k.Run(ctx); close(ended) }()
	<-asked
	cancel()
	<-ended
	last, enough := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer enough()
	k.Finish(last)
	if last.Err() == nil || len(l.stamps(t, "acme")) != 0 {
		t.Errorf("got %v, %v", last.Err(), l.stamps(t, "acme"))
	}
}

// A ledger that does not continue its newest time stamp gets no other one.
//
//guarantee:timestamps
func TestTimestamps_LedgerForked(t *testing.T) {
	a, l := timestamptest.New(t, timestamptest.Options{}), newLedgers(t, "acme")
	other := newLedgers(t, "acme")
	l.grow(t, "acme", 5)
	if err := l.stamping(t, a.URL).round(t, "acme"); err != nil {
		t.Fatal(err)
	}
	other.grow(t, "acme", 6)
	other.grow(t, "acme", 7)
	path, err := ledger.Path(l.dir, "acme")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	from, err := ledger.Path(other.dir, "acme")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Dir(path), os.DirFS(filepath.Dir(from))); err != nil {
		t.Fatal(err)
	}
	s := l.stamping(t, a.URL)
	s.now = s.now.Add(2 * DefaultTimestampInterval)
	if err := s.round(t, "acme"); err == nil || a.Hits() != 1 {
		t.Errorf("a ledger of another key: got %v, %d requests", err, a.Hits())
	}
	s.keys = note.VerifierList(l.key, other.key)
	if err := s.round(t, "acme"); !errors.Is(err, ErrForked) || a.Hits() != 1 {
		t.Errorf("another ledger of a known key: got %v, %d requests", err, a.Hits())
	}
}
