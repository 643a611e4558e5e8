package auditor

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor"
	"github.com/hooktrail/hooktrail/internal/evidence/anchor/bucket"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

func anchorOnce(tb testing.TB, o auditor.Options, tenant string) error {
	tb.Helper()
	key, err := writer.OpenKey(auditor.KeyDir(o.DataDir))
	if err != nil {
		tb.Fatal(err)
	}
	options := anchor.Options{
		LedgerDir: auditor.LedgerDir(o.DataDir), Keys: key.Verifiers(), File: o.CheckpointFile, Witnesses: o.Witnesses,
		Candidate: bucket.Candidate{Durable: string(subjects.AuditorRole)}, Logger: slog.New(slog.DiscardHandler), Now: time.Now,
	}
	if !o.NoBucket {
		options.Bucket = bucket.At(o.Broker.JetStream(), o.Broker.Space())
	}
	k := anchor.New(options)
	k.Changed(tenant)
	k.Finish(tb.Context())
	return k.Failure()
}

//guarantee:anchor-fails
func TestAnchor_File(t *testing.T) {
	b, dir, away := auditortest.Connect(t, auditortest.Server(t)), t.TempDir(), t.TempDir()
	acme, other := auditortest.Outbox(t, b, "coder", "acme"), auditortest.Outbox(t, b, "coder2", "other")
	auditortest.PublishRun(t, acme, "r1", 5)
	auditortest.PublishRun(t, other, "r1", 5)
	kept := filepath.Join(away, "{tenant}.checkpoint")
	drainWith(t, auditor.Options{Broker: b, DataDir: dir, CheckpointFile: anchor.File(kept)})
	older := auditortest.ReadFile(t, auditortest.LedgerFile(t, dir, "acme"))
	auditortest.PublishRun(t, acme, "r2", 5)
	drainWith(t, auditor.Options{Broker: b, DataDir: dir, CheckpointFile: anchor.File(kept)})

	check := []string{"verify", "--data-dir", dir, "--tenant", "acme", "--checkpoint-file", kept, "--require-trusted", "--json"}
	status, text := command(t, check...)
	var report verifier.Report
	if err := json.Unmarshal([]byte(text), &report); err != nil || status != 0 {
		t.Fatalf("status %d, %v:\n%s", status, err, text)
	}
	file := filepath.Join(away, "acme.checkpoint")
	newest := auditortest.ReadFile(t, file)
	if string(newest) != report.Checkpoint.Note {
		t.Errorf("kept is\n%s, the newest is\n%s", newest, report.Checkpoint.Note)
	}
	if c, err := ledger.ReadCheckpoint(auditortest.ReadFile(t, filepath.Join(away, "other.checkpoint"))); err != nil || c.Tenant != "other" {
		t.Errorf("the other tenant's: got %+v, %v", c, err)
	}

	auditortest.Put(t, auditortest.LedgerFile(t, dir, "acme"), string(older))
	if status, text := command(t, check...); status != verifier.ExitDiverged {
		t.Errorf("an older copy: got status %d, want %d:\n%s", status, verifier.ExitDiverged, text)
	}
	o := auditor.Options{DataDir: dir, NoBucket: true, CheckpointFile: anchor.File(kept)}
	if err := anchorOnce(t, o, "acme"); !errors.Is(err, anchor.ErrForked) {
		t.Errorf("an older copy: got %v, want %v", err, anchor.ErrForked)
	}
	if !bytes.Equal(auditortest.ReadFile(t, file), newest) {
		t.Error("the kept checkpoint was replaced by that of an older copy")
	}
	drainWith(t, auditor.Options{Broker: b, DataDir: dir, CheckpointFile: anchor.File(kept)})
	if status, text := command(t, check...); status != 0 {
		t.Errorf("read from the stream again: got status %d:\n%s", status, text)
	}
}

// An invalid address is rejected before anything runs.
func TestAnchorFlags_TilesNowhere(t *testing.T) {
	status, _ := command(t, "serve", "--data-dir", t.TempDir(), "--nats-url", "nats://127.0.0.1:1", "--tiles-listen", "8555")
	if status != 2 {
		t.Errorf("got status %d, want 2", status)
	}
}
