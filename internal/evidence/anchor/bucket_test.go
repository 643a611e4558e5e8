package anchor

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor/bucket"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
)

// atBroker returns anchors that hold the lease at s and have uploaded the checkpoints of l. It also
// returns the bucket and its stream.
func (l ledgers) atBroker(tb testing.TB, s *natstest.Server, file File) (*Anchors, *bucket.Bucket, jetstream.Stream) {
	tb.Helper()
	js := s.JetStream(tb)
	at := bucket.At(js, subjects.Space{})
	k := New(Options{
		LedgerDir: l.dir, Keys: note.VerifierList(l.key), File: file, Bucket: at, Candidate: bucket.Candidate{Durable: "auditor"},
	})
	if !k.bucket.refresh(tb.Context()) {
		tb.Fatal("it has not the turn")
	}
	k.bucket.uploads.round(tb.Context())
	stream, err := js.Stream(tb.Context(), subjects.Space{}.CheckpointStream())
	if err != nil {
		tb.Fatal(err)
	}
	return k, at, stream
}

func newest(tb testing.TB, b *bucket.Bucket, tenant string) string {
	tb.Helper()
	e, err := b.Newest(tb.Context(), tenant)
	if err != nil {
		tb.Fatal(err)
	}
	return string(e.Data)
}

// Deleting the bucket does not stop uploads to other anchors.
//
//guarantee:anchor-fails
func TestAnchors_BucketDeletedMeanwhile(t *testing.T) {
	l := newLedgers(t, "acme")
	synctest.Test(t, func(t *testing.T) {
		s := natstest.Start(t)
		file := filepath.Join(t.TempDir(), "{tenant}")
		k, _, _ := l.atBroker(t, s, File(file))
		if err := s.JetStream(t).DeleteStream(t.Context(), subjects.Space{}.CheckpointStream()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(bucket.HeldFor)
		k.bucket.refresh(t.Context())
		for _, r := range k.all {
			r.changed("acme")
			r.round(t.Context())
		}
		if kept := File(file).Checkpoint(t.Context(), "acme"); kept.Err != nil || string(kept.Note) != l.newest(t, "acme") {
			t.Errorf("in the file: %q, %v", kept.Note, kept.Err)
		}
	})
}

// An auditor that was offline, while no other took the lease, does not log a takeover.
func TestAnchors_CutOffForAWhile(t *testing.T) {
	l := newLedgers(t)
	synctest.Test(t, func(t *testing.T) {
		k, _, _ := l.atBroker(t, natstest.Start(t), "")
		var log bytes.Buffer
		k.bucket.leadership.logger = slog.New(slog.NewTextHandler(&log, nil))
		time.Sleep(bucket.HeldFor)
		k.bucket.leadership.observe(t.Context())
		k.bucket.refresh(t.Context())
		if text := log.String(); strings.Contains(text, "another auditor") || !strings.Contains(text, "this auditor uploads") {
			t.Errorf("got\n%s", text)
		}
	})
}

// A purged bucket gets all checkpoints again, including those of idle ledgers.
//
//guarantee:anchor-fails
func TestAnchors_BucketPurgedMeanwhile(t *testing.T) {
	l := newLedgers(t, "acme")
	k, bucket, stream := l.atBroker(t, natstest.Start(t, natstest.Options{AllowTamper: true}), "")
	want := l.newest(t, "acme")
	if got := newest(t, bucket, "acme"); got != want {
		t.Fatalf("at first: got %q", got)
	}
	if err := stream.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	k.bucket.refresh(t.Context())
	k.bucket.uploads.round(t.Context())
	if got := newest(t, bucket, "acme"); got != want {
		t.Errorf("got %q, %v", got, k.Failure())
	}
}

//guarantee:anchor-fails
func TestAnchors_BucketFull(t *testing.T) {
	l := newLedgers(t, "acme", "other")
	s := natstest.Start(t, natstest.Options{AllowTamper: true})
	k, _, stream := l.atBroker(t, s, "")
	config := stream.CachedInfo().Config
	config.MaxBytes = 1
	if _, err := s.JetStream(t).UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	grown := newLedgers(t, "more")
	k.bucket.anchor.ledgerDir, k.bucket.anchor.keys = grown.dir, note.VerifierList(grown.key)
	k.bucket.uploads.changed("more")
	k.bucket.uploads.round(t.Context())
	if err := k.Failure(); err == nil || !strings.Contains(err.Error(), "--max-bytes") {
		t.Errorf("got %v, want how to mend it", err)
	}
}
