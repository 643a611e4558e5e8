package auditor

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

//guarantee:anchor-fails
func TestAnchor_BucketReplacesNothingOfOthers(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder", "acme"), "r1", 5)
	drain(t, b, dir)
	kept := auditortest.InBucket(t, b, "acme")
	stranger := t.TempDir()
	drain(t, b, stranger)
	if !bytes.Equal(auditortest.InBucket(t, b, "acme"), kept) {
		t.Error("a stranger's checkpoint replaced what was kept")
	}
	if err := anchorOnce(t, Options{Broker: b, DataDir: stranger}, "acme"); err == nil || !strings.Contains(err.Error(), "HOOKTRAIL_CHECKPOINTS") {
		t.Errorf("got %v, want an error that names the bucket", err)
	}
}

//guarantee:anchor-fails
func TestAnchor_BucketCannotBeUsed(t *testing.T) {
	s := auditortest.Server(t)
	b, dir, away := auditortest.Connect(t, s), t.TempDir(), t.TempDir()
	if err := b.JetStream().DeleteStream(t.Context(), b.Space().CheckpointStream()); err != nil {
		t.Fatal(err)
	}
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder", "acme"), "r1", 5)
	o := Options{Broker: b, DataDir: dir, Drain: true, CheckpointFile: anchor.File(away + "/{tenant}")}
	if err := Run(auditortest.Deadline(t), o); err != nil {
		t.Fatal(err)
	}
	auditortest.WantVerdicts(t, auditortest.Verify(t, dir, "acme"), verifier.Verified, verifier.Complete)
	auditortest.ReadFile(t, away+"/acme")

	if err := anchorOnce(t, o, "acme"); !errors.Is(err, jetstream.ErrStreamNotFound) || !strings.Contains(err.Error(), "nats init") {
		t.Errorf("got %v, want what is missing and how to mend it", err)
	}
}

func TestAnchor_BucketManyTenants(t *testing.T) {
	s := auditortest.Server(t)
	b, dir := auditortest.Connect(t, s), t.TempDir()
	const tenants = 40
	for i := range tenants {
		subject := fmt.Sprintf("hooktrail.ev.t%d.p.r.custom", i) // quarantined, so the ledger gets a leaf
		if _, err := b.JetStream().Publish(t.Context(), subject, []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	drain(t, b, dir)
	for i := range tenants {
		if c, err := ledger.ReadCheckpoint(auditortest.InBucket(t, b, fmt.Sprintf("t%d", i))); err != nil || c.Size != 1 {
			t.Fatalf("t%d: got %+v, %v", i, c, err)
		}
	}
	stream, err := b.JetStream().Stream(t.Context(), b.Space().CheckpointStream())
	if err != nil {
		t.Fatal(err)
	}
	if n := stream.CachedInfo().State.LastSeq; n > tenants+8 {
		t.Errorf("%d messages for %d tenants", n, tenants)
	}
}
