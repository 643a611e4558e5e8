package auditor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hooktrail/hooktrail/internal/ledger"
)

// drainKeeping handles all that there is, and keeps checkpoints in file.
func drainKeeping(tb testing.TB, o Options, file string) {
	tb.Helper()
	o.Drain, o.CheckpointFile = true, CheckpointFile(file)
	if err := Run(deadline(tb), o); err != nil {
		tb.Fatalf("drain: %v", err)
	}
}

func TestKeep_File(t *testing.T) {
	b, dir, away := connect(t, server(t)), t.TempDir(), t.TempDir()
	acme, other := outbox(t, b, "coder", "acme"), outbox(t, b, "coder2", "other")
	publishRun(t, acme, "r1", 5)
	publishRun(t, other, "r1", 5)
	kept := filepath.Join(away, "{tenant}.checkpoint")
	drainKeeping(t, Options{Broker: b, DataDir: dir}, kept)
	older := readFile(t, ledgerFile(t, dir, "acme"))
	publishRun(t, acme, "r2", 5)
	drainKeeping(t, Options{Broker: b, DataDir: dir}, kept)

	check := []string{"verify", "--data-dir", dir, "--tenant", "acme", "--checkpoint-file", kept, "--require-trusted", "--json"}
	status, text := command(t, check...)
	var report ledger.Report
	if err := json.Unmarshal([]byte(text), &report); err != nil || status != 0 {
		t.Fatalf("status %d, %v:\n%s", status, err, text)
	}
	file := filepath.Join(away, "acme.checkpoint")
	newest := readFile(t, file)
	if string(newest) != report.Checkpoint.Note {
		t.Errorf("kept is\n%s, the newest is\n%s", newest, report.Checkpoint.Note)
	}
	if c, err := ledger.ReadCheckpoint(readFile(t, filepath.Join(away, "other.checkpoint"))); err != nil || c.Tenant != "other" {
		t.Errorf("the other tenant's: got %+v, %v", c, err)
	}

	// An older copy comes back: what proves it stays.
	put(t, ledgerFile(t, dir, "acme"), string(older))
	if status, text := command(t, check...); status != ledger.ExitDiverged {
		t.Errorf("an older copy: got status %d, want %d:\n%s", status, ledger.ExitDiverged, text)
	}
	k := keeperOf(t, dir, CheckpointFile(kept))
	if err := k.keep(t.Context(), "acme"); !errors.Is(err, ErrForked) {
		t.Errorf("an older copy: got %v, want %v", err, ErrForked)
	}
	if !bytes.Equal(readFile(t, file), newest) {
		t.Error("the kept checkpoint was replaced by that of an older copy")
	}
	// What it lacks comes from the stream again, and it goes on.
	drainKeeping(t, Options{Broker: b, DataDir: dir}, kept)
	if status, text := command(t, check...); status != 0 {
		t.Errorf("read from the stream again: got status %d:\n%s", status, text)
	}
}

func keeperOf(tb testing.TB, dir string, s shelf) *keeper {
	tb.Helper()
	key, _, err := ledger.ReadVerifier(KeyDir(dir))
	if err != nil {
		tb.Fatal(err)
	}
	return newKeeper(Options{DataDir: dir}.withDefaults(), key, s)
}

// A place that cannot be written holds nothing up, and is told.
func TestKeep_FileCannotBeWritten(t *testing.T) {
	b, dir := connect(t, server(t)), t.TempDir()
	p := outbox(t, b, "coder", "acme")
	publishRun(t, p, "r1", 5)
	folder := filepath.Join(t.TempDir(), "gone")
	file := filepath.Join(folder, "checkpoint")
	drainKeeping(t, Options{Broker: b, DataDir: dir, Tenant: "acme"}, file)
	wantVerdicts(t, verify(t, dir, "acme"), ledger.Verified, ledger.Complete)

	k := keeperOf(t, dir, CheckpointFile(file))
	k.changed("acme")
	k.round(t.Context())
	if err := k.failure(); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v, want an error that names %s", err, file)
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	k.round(t.Context())
	if err := k.failure(); err != nil {
		t.Error(err)
	}
	readFile(t, file)
}

func TestKeep_ReplacesNothingOfOthers(t *testing.T) {
	b, dir := connect(t, server(t)), t.TempDir()
	publishRun(t, outbox(t, b, "coder", "acme"), "r1", 5)
	publishRun(t, outbox(t, b, "coder2", "other"), "r1", 5)
	drain(t, b, dir)
	stranger := t.TempDir()
	drain(t, b, stranger)
	note := func(dir, tenant string) string { return verify(t, dir, tenant).Checkpoint.Note }
	for name, text := range map[string]string{
		"Text": "anything", "OtherTenant": note(dir, "other"), "OtherKey": note(stranger, "acme"),
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "checkpoint")
			put(t, file, text)
			if err := keeperOf(t, dir, CheckpointFile(file)).keep(t.Context(), "acme"); err == nil {
				t.Error("it was replaced")
			}
			if got := string(readFile(t, file)); got != text {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestKeep_OneFileForAllTenants(t *testing.T) {
	b := connect(t, server(t))
	err := Run(deadline(t), Options{Broker: b, DataDir: t.TempDir(), Drain: true, CheckpointFile: "/tmp/one"})
	if err == nil || !strings.Contains(err.Error(), tenantPlace) {
		t.Errorf("got %v, want an error that names %s", err, tenantPlace)
	}
}

// counted counts what is stored on a shelf.
type counted struct {
	CheckpointFile
	stores int
}

func (c *counted) store(ctx context.Context, tenant string, signed []byte, revision uint64) error {
	c.stores++
	if err := c.CheckpointFile.store(ctx, tenant, signed, revision); err != nil {
		return err
	}
	return os.Remove(string(c.CheckpointFile)) // so that there is always something to store
}

func TestKeep_AtMostOncePerSecond(t *testing.T) {
	b, dir := connect(t, server(t)), t.TempDir()
	publishRun(t, outbox(t, b, "coder", "acme"), "r1", 5)
	drain(t, b, dir)
	place := &counted{CheckpointFile: CheckpointFile(filepath.Join(t.TempDir(), "checkpoint"))}
	k := keeperOf(t, dir, place)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			k.run(ctx)
		}()
		for range 1000 {
			k.changed("acme")
			time.Sleep(10 * time.Millisecond)
		}
		cancel()
		<-done
	})
	if place.stores < 9 || place.stores > 11 {
		t.Errorf("got %d stores in 10 seconds, want one per second", place.stores)
	}
}
