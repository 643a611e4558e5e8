package auditor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor"
	"github.com/hooktrail/hooktrail/internal/evidence/anchor/bucket"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
)

// inBucket returns what the broker's bucket has of tenant.
func inBucket(tb testing.TB, b *broker.Broker, tenant string) []byte {
	tb.Helper()
	e, err := bucket.At(b.JetStream(), b.Space()).Newest(tb.Context(), tenant)
	if err != nil {
		tb.Fatal(err)
	}
	return e.Data
}

func TestKeep_Bucket(t *testing.T) {
	s := server(t)
	b, dir := connect(t, s), t.TempDir()
	acme := outbox(t, b, "coder", "acme")
	publishRun(t, acme, "r1", 5)
	publishRun(t, outbox(t, b, "coder2", "a/b"), "r1", 5)
	drain(t, b, dir)
	older := readFile(t, ledgerFile(t, dir, "acme"))
	publishRun(t, acme, "r2", 5)
	drain(t, b, dir)
	check := []string{"verify", "--data-dir", dir, "--tenant", "acme", "--nats-url", s.URL(), "--require-trusted", "--json"}
	status, text := command(t, check...)
	var report verifier.Report
	if err := json.Unmarshal([]byte(text), &report); err != nil || status != 0 {
		t.Fatalf("status %d, %v:\n%s", status, err, text)
	}
	newest := inBucket(t, b, "acme")
	if string(newest) != report.Checkpoint.Note || len(report.Kept) != 1 || report.Kept[0].From != "bucket HOOKTRAIL_CHECKPOINTS" {
		t.Errorf("in the bucket is\n%s, the newest is\n%s; compared with %+v", newest, report.Checkpoint.Note, report.Kept)
	}
	if c, err := ledger.ReadCheckpoint(inBucket(t, b, "a/b")); err != nil || c.Tenant != "a/b" {
		t.Errorf("the other tenant's: got %+v, %v", c, err)
	}

	// An older copy comes back: what proves it stays, until it has caught up.
	put(t, ledgerFile(t, dir, "acme"), string(older))
	if status, text := command(t, check...); status != verifier.ExitDiverged {
		t.Errorf("an older copy: got status %d, want %d:\n%s", status, verifier.ExitDiverged, text)
	}
	if err := keepOnce(t, Options{Broker: b, DataDir: dir}, "acme"); !errors.Is(err, anchor.ErrForked) {
		t.Errorf("an older copy: got %v, want %v", err, anchor.ErrForked)
	}
	if !bytes.Equal(inBucket(t, b, "acme"), newest) {
		t.Error("the kept checkpoint was replaced by that of an older copy")
	}
	drain(t, b, dir)
	if status, text := command(t, check...); status != 0 {
		t.Errorf("read from the stream again: got status %d:\n%s", status, text)
	}
	// Asked not to, it does not look.
	if status, _ := command(t, append(check, "--checkpoint-bucket=false")...); status != verifier.ExitUntrusted {
		t.Errorf("without the bucket: got status %d, want %d", status, verifier.ExitUntrusted)
	}
}

// The bucket of the broker in the data directory lies where the ledgers lie: it is
// compared, and proves nothing to who asks for a checkpoint from elsewhere.
func TestVerify_BucketBesideTheLedger(t *testing.T) {
	dir := t.TempDir()
	b, err := broker.Open(deadline(t), broker.Options{DataDir: dir, Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	closed := false
	end := func() {
		if !closed {
			closed = true
			if err := b.Close(context.Background()); err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(end)
	p := outbox(t, b, "coder", "acme")
	publishRun(t, p, "r1", 2)
	if err := p.Close(deadline(t)); err != nil {
		t.Fatal(err)
	}
	drain(t, b, dir)
	check := []string{"verify", "--data-dir", dir, "--tenant", "acme", "--json"}
	status, text := command(t, check...)
	var report verifier.Report
	if err := json.Unmarshal([]byte(text), &report); err != nil || status != 0 {
		t.Fatalf("status %d, %v:\n%s", status, err, text)
	}
	if len(report.Kept) != 1 || !report.Kept[0].Beside || report.Kept[0].Diverged || report.Kept[0].Unusable {
		t.Errorf("compared with %+v", report.Kept)
	}
	if status, _ := command(t, append(check, "--require-trusted")...); status != verifier.ExitUntrusted {
		t.Errorf("required: got status %d, want %d", status, verifier.ExitUntrusted)
	}
	// A copy elsewhere is not asked about, and neither is a server that does not run.
	for _, args := range [][]string{append(check, "--ledger", ledgerFile(t, dir, "acme")), check} {
		if args[len(args)-1] == "--json" {
			end()
		}
		status, text := command(t, args...)
		report = verifier.Report{}
		if err := json.Unmarshal([]byte(text), &report); err != nil || status != 0 || len(report.Kept) > 0 {
			t.Errorf("%v: status %d, %v, compared with %+v", args, status, err, report.Kept)
		}
	}
}

// A broker that was named and is not there is told, and the verdict comes all the same.
func TestVerify_BucketOutOfReach(t *testing.T) {
	s := server(t)
	b, dir := connect(t, s), t.TempDir()
	publishRun(t, outbox(t, b, "coder", "acme"), "r1", 2)
	drain(t, b, dir)
	status, text := command(t, "verify", "--data-dir", dir, "--tenant", "acme", "--nats-url", "nats://127.0.0.1:1")
	if status != 0 || !strings.Contains(text, "NOT FOUND") || !strings.Contains(text, "127.0.0.1:1") {
		t.Errorf("status %d:\n%s", status, text)
	}
}

// A stranger's ledger, with a key of its own, does not get in the place of what is
// kept, and health says so.
func TestKeep_BucketReplacesNothingOfOthers(t *testing.T) {
	b, dir := connect(t, server(t)), t.TempDir()
	publishRun(t, outbox(t, b, "coder", "acme"), "r1", 5)
	drain(t, b, dir)
	kept := inBucket(t, b, "acme")
	stranger := t.TempDir()
	drain(t, b, stranger)
	if !bytes.Equal(inBucket(t, b, "acme"), kept) {
		t.Error("a stranger's checkpoint replaced what was kept")
	}
	if err := keepOnce(t, Options{Broker: b, DataDir: stranger}, "acme"); err == nil || !strings.Contains(err.Error(), "HOOKTRAIL_CHECKPOINTS") {
		t.Errorf("got %v, want an error that names the bucket", err)
	}
}

// A bucket that cannot be used holds nothing up, the other places neither, and is told.
func TestKeep_BucketCannotBeUsed(t *testing.T) {
	s := server(t)
	b, dir, away := connect(t, s), t.TempDir(), t.TempDir()
	if err := b.JetStream().DeleteStream(t.Context(), b.Space().CheckpointStream()); err != nil {
		t.Fatal(err)
	}
	publishRun(t, outbox(t, b, "coder", "acme"), "r1", 5)
	o := Options{Broker: b, DataDir: dir, Drain: true, CheckpointFile: anchor.File(away + "/{tenant}")}
	if err := Run(deadline(t), o); err != nil {
		t.Fatal(err)
	}
	wantVerdicts(t, verify(t, dir, "acme"), verifier.Verified, verifier.Complete)
	readFile(t, away+"/acme")

	if err := keepOnce(t, o, "acme"); !errors.Is(err, jetstream.ErrStreamNotFound) || !strings.Contains(err.Error(), "nats init") {
		t.Errorf("got %v, want what is missing and how to mend it", err)
	}
}

// All tenants of a round go in one batch, which the broker syncs once.
func TestKeep_BucketManyTenants(t *testing.T) {
	s := server(t)
	b, dir := connect(t, s), t.TempDir()
	const tenants = 40
	for i := range tenants {
		subject := fmt.Sprintf("hooktrail.ev.t%d.p.r.custom", i) // set apart, and so a leaf
		if _, err := b.JetStream().Publish(t.Context(), subject, []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	drain(t, b, dir)
	for i := range tenants {
		if c, err := ledger.ReadCheckpoint(inBucket(t, b, fmt.Sprintf("t%d", i))); err != nil || c.Size != 1 {
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
