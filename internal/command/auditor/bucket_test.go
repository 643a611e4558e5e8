package auditor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
)

//guarantee:anchor-fails
func TestAnchor_Bucket(t *testing.T) {
	s := auditortest.Server(t)
	b, dir := auditortest.Connect(t, s), t.TempDir()
	acme := auditortest.Outbox(t, b, "coder", "acme")
	auditortest.PublishRun(t, acme, "r1", 5)
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder2", "a/b"), "r1", 5)
	drain(t, b, dir)
	older := auditortest.ReadFile(t, auditortest.LedgerFile(t, dir, "acme"))
	auditortest.PublishRun(t, acme, "r2", 5)
	drain(t, b, dir)
	check := []string{"verify", "--data-dir", dir, "--tenant", "acme", "--nats-url", s.URL(), "--require-trusted", "--json"}
	status, text := command(t, check...)
	var report verifier.Report
	if err := json.Unmarshal([]byte(text), &report); err != nil || status != 0 {
		t.Fatalf("status %d, %v:\n%s", status, err, text)
	}
	newest := auditortest.InBucket(t, b, "acme")
	if string(newest) != report.Checkpoint.Note || len(report.Anchored) != 1 || report.Anchored[0].From != "bucket HOOKTRAIL_CHECKPOINTS" {
		t.Errorf("in the bucket is\n%s, the newest is\n%s; compared with %+v", newest, report.Checkpoint.Note, report.Anchored)
	}
	if c, err := ledger.ReadCheckpoint(auditortest.InBucket(t, b, "a/b")); err != nil || c.Tenant != "a/b" {
		t.Errorf("the other tenant's: got %+v, %v", c, err)
	}

	auditortest.Put(t, auditortest.LedgerFile(t, dir, "acme"), string(older))
	if status, text := command(t, check...); status != verifier.ExitDiverged {
		t.Errorf("an older copy: got status %d, want %d:\n%s", status, verifier.ExitDiverged, text)
	}
	if err := anchorOnce(t, auditor.Options{Broker: b, DataDir: dir}, "acme"); !errors.Is(err, anchor.ErrForked) {
		t.Errorf("an older copy: got %v, want %v", err, anchor.ErrForked)
	}
	if !bytes.Equal(auditortest.InBucket(t, b, "acme"), newest) {
		t.Error("the kept checkpoint was replaced by that of an older copy")
	}
	drain(t, b, dir)
	if status, text := command(t, check...); status != 0 {
		t.Errorf("read from the stream again: got status %d:\n%s", status, text)
	}
	if status, _ := command(t, append(check, "--checkpoint-bucket=false")...); status != verifier.ExitUntrusted {
		t.Errorf("without the bucket: got status %d, want %d", status, verifier.ExitUntrusted)
	}
}

// A bucket in the data directory is compared, but does not count as a checkpoint from elsewhere.
func TestVerify_BucketInDataDir(t *testing.T) {
	dir := t.TempDir()
	b, err := broker.Open(auditortest.Deadline(t), broker.Options{DataDir: dir, Name: "test"})
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
	p := auditortest.Outbox(t, b, "coder", "acme")
	auditortest.PublishRun(t, p, "r1", 2)
	if err := p.Close(auditortest.Deadline(t)); err != nil {
		t.Fatal(err)
	}
	drain(t, b, dir)
	check := []string{"verify", "--data-dir", dir, "--tenant", "acme", "--json"}
	status, text := command(t, check...)
	var report verifier.Report
	if err := json.Unmarshal([]byte(text), &report); err != nil || status != 0 {
		t.Fatalf("status %d, %v:\n%s", status, err, text)
	}
	if len(report.Anchored) != 1 || !report.Anchored[0].WithLedger || report.Anchored[0].Diverged || report.Anchored[0].Unusable {
		t.Errorf("compared with %+v", report.Anchored)
	}
	if status, _ := command(t, append(check, "--require-trusted")...); status != verifier.ExitUntrusted {
		t.Errorf("required: got status %d, want %d", status, verifier.ExitUntrusted)
	}
	// The bucket is not read for a ledger outside the data directory, or if the broker does not
	// run.
	for _, args := range [][]string{append(check, "--ledger", auditortest.LedgerFile(t, dir, "acme")), check} {
		if args[len(args)-1] == "--json" {
			end()
		}
		status, text := command(t, args...)
		report = verifier.Report{}
		if err := json.Unmarshal([]byte(text), &report); err != nil || status != 0 || len(report.Anchored) > 0 {
			t.Errorf("%v: status %d, %v, compared with %+v", args, status, err, report.Anchored)
		}
	}
}

func TestVerify_BucketOutOfReach(t *testing.T) {
	s := auditortest.Server(t)
	b, dir := auditortest.Connect(t, s), t.TempDir()
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder", "acme"), "r1", 2)
	drain(t, b, dir)
	status, text := command(t, "verify", "--data-dir", dir, "--tenant", "acme", "--nats-url", "nats://127.0.0.1:1")
	if status != 0 || !strings.Contains(text, "NOT FOUND") || !strings.Contains(text, "127.0.0.1:1") {
		t.Errorf("status %d:\n%s", status, text)
	}
}

func TestVerify_BucketIsEmpty(t *testing.T) {
	s := auditortest.Server(t)
	b, dir := auditortest.Connect(t, s), t.TempDir()
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder", "acme"), "r1", 1)
	drainWith(t, auditor.Options{Broker: b, DataDir: dir, NoBucket: true})
	args := []string{"verify", "--data-dir", dir, "--tenant", "acme", "--nats-url", s.URL()}
	if status, text := command(t, args...); status != 0 || !strings.Contains(text, "Kept:         NOT YET      bucket HOOKTRAIL_CHECKPOINTS: no checkpoint of this ledger") {
		t.Errorf("got status %d:\n%s", status, text)
	}
	if status, text := command(t, append(args, "--require-trusted")...); status != verifier.ExitUntrusted {
		t.Errorf("--require-trusted: got status %d:\n%s", status, text)
	}
}
