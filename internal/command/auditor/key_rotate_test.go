package auditor

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/platform/filelock"
)

func rotateOnce(tb testing.TB, dir string) writer.Rotated {
	tb.Helper()
	status, out := command(tb, "key", "rotate", "--reason", "every year", "--by", "jdoe", "--data-dir", dir, "--json")
	var done writer.Rotated
	if err := json.Unmarshal([]byte(out), &done); err != nil || status != 0 {
		tb.Fatalf("rotate: status %d, %v: %s", status, err, out)
	}
	return done
}

func publicKey(tb testing.TB, dir string) string {
	tb.Helper()
	_, text, err := ledger.ReadVerifier(auditor.KeyDir(dir))
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

func report(tb testing.TB, want int, args ...string) (r verifier.Report) {
	tb.Helper()
	status, out := command(tb, append([]string{"verify", "--tenant", "acme", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(out), &r); err != nil || status != want {
		tb.Fatalf("verify %v: status %d, want %d, %v: %v", args, status, want, err, r.Problems)
	}
	return r
}

// The key changes three times, with checkpoints in a file and in the bucket, followed by a rebuild.
//
//guarantee:rotate
func TestKeyRotate(t *testing.T) {
	s := auditortest.Server(t)
	b, dir, away := auditortest.Connect(t, s), t.TempDir(), t.TempDir()
	p := auditortest.Outbox(t, b, "coder", "acme")
	o := auditor.Options{Broker: b, DataDir: dir, Drain: true, CheckpointFile: anchor.File(away + "/{tenant}")}
	run := func() {
		t.Helper()
		if err := auditor.Run(auditortest.Deadline(t), o); err != nil {
			t.Fatal(err)
		}
	}
	auditortest.PublishRun(t, p, "r0", 1)
	run()
	old, err := os.ReadFile(away + "/acme")
	if err != nil {
		t.Fatal(err)
	}
	trusted := filepath.Join(away, "oldest.checkpoint")
	if err := os.WriteFile(trusted, old, 0o600); err != nil {
		t.Fatal(err)
	}
	keys := []string{publicKey(t, dir)}
	for _, name := range []string{"r1", "r2", "r3"} {
		status, out := command(t, "erase", "--run", "r"+string(name[1]-1), "--reason", "asked for", "--by", "jdoe",
			"--data-dir", dir, "--tenant", "acme", "--nats-url", s.URL())
		if status != 0 {
			t.Fatalf("erase: status %d: %s", status, out)
		}
		done := rotateOnce(t, dir)
		if keys = append(keys, publicKey(t, dir)); done.Key != keys[len(keys)-1] || done.Ledgers != 1 {
			t.Errorf("rotated: %+v, want %s", done, keys[len(keys)-1])
		}
		auditortest.PublishRun(t, p, name, 1)
		run()
		run() // nothing is left to send
	}
	check := func() verifier.Report {
		t.Helper()
		var r verifier.Report
		for _, key := range keys {
			r = report(t, 0, "--data-dir", dir, "--key", key, "--nats-url", s.URL(), "--checkpoint-file", away+"/{tenant}", "--trusted", trusted)
			if len(r.Keys) != 3 || r.Redacted.Erased == 0 || len(r.Anchored) != 2 || r.Anchored[0].Unusable || r.Anchored[1].Unusable {
				t.Errorf("with %s: keys %+v, %d erased, kept %+v", key, r.Keys, r.Redacted.Erased, r.Anchored)
			}
		}
		return r
	}
	before := check()
	if stranger := otherKey(t); report(t, 40, "--data-dir", dir, "--key", stranger).Integrity != verifier.Invalid {
		t.Error("a stranger's key verified it")
	}
	rebuild(t, b, dir)
	if after := check(); after.Checkpoint.Root != before.Checkpoint.Root || after.Redacted.Erased != before.Redacted.Erased {
		t.Errorf("rebuilt: root %s, %d erased, want %s, %d", after.Checkpoint.Root, after.Redacted.Erased, before.Checkpoint.Root, before.Redacted.Erased)
	}
	_, text := command(t, "verify", "--tenant", "acme", "--data-dir", dir)
	if want := "Keys:         " + before.Keys[0].To + ", since "; !strings.Contains(text, want) || !strings.Contains(text, ", from "+before.Keys[0].From) {
		t.Errorf("got\n%s\nwant %q in it", text, want)
	}
	if _, text = command(t, "key", "--data-dir", dir); strings.Count(text, " replaced ") != 3 {
		t.Errorf("key:\n%s", text)
	}
}

func otherKey(tb testing.TB) string {
	tb.Helper()
	key, err := writer.OpenKey(filepath.Join(tb.TempDir(), "keys"))
	if err != nil {
		tb.Fatal(err)
	}
	return key.Public()
}

//guarantee:rotate-killed
func TestKeyRotate_Refused(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	if status, _ := command(t, "key", "rotate", "--reason", "x", "--data-dir", dir); status != 1 {
		t.Errorf("without a key: status %d", status)
	}
	drain(t, b, dir)
	if status, _ := command(t, "key", "rotate", "--data-dir", dir); status != 2 {
		t.Errorf("without a reason: status %d", status)
	}
	before := publicKey(t, dir)
	lock, err := filelock.Share(t.Context(), filepath.Join(auditor.LedgerDir(dir), "auditor.lock"), func() {})
	if err != nil {
		t.Fatal(err)
	}
	status, _ := command(t, "key", "rotate", "--reason", "x", "--data-dir", dir)
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	if status != 1 || publicKey(t, dir) != before {
		t.Errorf("beside an auditor: status %d, key %s, was %s", status, publicKey(t, dir), before)
	}
	if status, out := command(t, "key", "rotate", "--reason", "x", "--data-dir", dir, "--destroy"); status != 0 || strings.Contains(out, "retired") {
		t.Errorf("destroy: status %d: %s", status, out)
	}
	if _, err := os.Stat(filepath.Join(auditor.KeyDir(dir), "retired")); !os.IsNotExist(err) {
		t.Errorf("destroyed, and kept: %v", err)
	}
}

// A standby accepts the change once it has a copy of the new keys folder. Before, its error tells
// what to do.
//
//guarantee:rotate-absent
func TestKeyRotate_Standby(t *testing.T) {
	b, first, second := auditortest.Connect(t, auditortest.Server(t)), t.TempDir(), t.TempDir()
	p := auditortest.Outbox(t, b, "coder", "acme")
	auditortest.PublishRun(t, p, "r1", 1)
	drain(t, b, first)
	auditortest.CopyKeys(t, second, first)
	follow := func() error {
		return tryDrain(t, auditor.Options{Broker: b, DataDir: second, NoBucket: true})
	}
	if err := follow(); err != nil {
		t.Fatal(err)
	}
	rotateOnce(t, first)
	auditortest.PublishRun(t, p, "r2", 1)
	drain(t, b, first)
	auditortest.PublishRun(t, p, "r3", 1)
	drain(t, b, first)
	err := follow()
	if err == nil || !strings.Contains(err.Error(), "copy the keys folder") {
		t.Fatalf("without the new key: got %v", err)
	}
	if err := os.RemoveAll(auditor.KeyDir(second)); err != nil {
		t.Fatal(err)
	}
	auditortest.CopyKeys(t, second, first)
	if err := follow(); err != nil {
		t.Fatal(err)
	}
	drain(t, b, first)
	one, other := auditortest.Verify(t, first, "acme"), auditortest.Verify(t, second, "acme")
	if one.Checkpoint.Root != other.Checkpoint.Root || other.Integrity != verifier.Verified || len(other.Keys) != 1 {
		t.Errorf("first %+v, second %s, %+v, keys %+v", one.Checkpoint, other.Integrity, other.Checkpoint, other.Keys)
	}
}
