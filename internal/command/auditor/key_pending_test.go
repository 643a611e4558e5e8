package auditor

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

// After one or two rotations, before the auditor has started again.
//
//guarantee:rotate-pending
func TestKeyRotate_Pending(t *testing.T) {
	b, dir, out := auditortest.Connect(t, auditortest.Server(t)), t.TempDir(), t.TempDir()
	p := auditortest.Outbox(t, b, "coder", "acme")
	auditortest.PublishRun(t, p, "r1", 3)
	drain(t, b, dir)
	if status, out := command(t, "access", "--tenant", "acme", "--data-dir", dir); status != 0 {
		t.Fatalf("access: status %d: %s", status, out)
	}
	drain(t, b, dir) // the record of it comes from an enrolled producer
	before := report(t, 0, "--data-dir", dir)
	keys := []string{publicKey(t, dir)}
	for n, name := range []string{"first", "second"} {
		rotateOnce(t, dir)
		keys = append(keys, publicKey(t, dir))
		newest := keys[n+1]
		for i, key := range keys {
			r := report(t, 0, "--data-dir", dir, "--key", key)
			if len(r.PendingKeys) != n+1 || r.PendingKeys[n].By != "jdoe" || len(r.Keys) != 0 {
				t.Errorf("%s, key %d: pending %+v, keys %+v", name, i, r.PendingKeys, r.Keys)
			}
		}
		if r := report(t, 0, "--data-dir", dir); r.Enrolled == 0 || r.Enrolled != before.Enrolled || r.Anchor.State != verifier.AnchorPinned {
			t.Errorf("%s: %d enrolled, anchor %+v", name, r.Enrolled, r.Anchor)
		}
		if _, text := command(t, "verify", "--tenant", "acme", "--data-dir", dir); !strings.Contains(text, "PENDING") ||
			!strings.Contains(text, "the next start of the auditor records it") {
			t.Errorf("%s:\n%s", name, text)
		}
		usePending(t, dir, out, name, newest)
	}
	auditortest.PublishRun(t, p, "r2", 3)
	drain(t, b, dir)
	for i, key := range keys {
		if r := report(t, 0, "--data-dir", dir, "--key", key); len(r.PendingKeys) != 0 || len(r.Keys) != 2 {
			t.Errorf("recorded, key %d: pending %+v, keys %+v", i, r.PendingKeys, r.Keys)
		}
	}
	if status, text := command(t, "verify", "--report", filepath.Join(out, "second.txt"), "--key", keys[2], "--data-dir", dir); status != 0 {
		t.Errorf("report, recorded: status %d:\n%s", status, text)
	}
}

// usePending exports a bundle and makes reports.
func usePending(tb testing.TB, dir, out, name, newest string) {
	tb.Helper()
	zip, day := filepath.Join(out, name+".zip"), filepath.Join(out, name+".txt")
	if status, _, errs := commandBoth(tb, "export", "--tenant", "acme", "--data-dir", dir, "--out", zip); status != 0 || strings.Contains(errs, "not signed") {
		tb.Fatalf("%s export: status %d: %s", name, status, errs)
	}
	if status, text := command(tb, "verify", "--key", newest, zip); status != 0 || !strings.Contains(text, "Selection:    ATTESTED") {
		tb.Errorf("%s bundle: status %d:\n%s", name, status, text)
	}
	status, text, errs := commandBoth(tb, append([]string{"report", "--tenant", "acme", "--data-dir", dir, "--out", day}, today...)...)
	if status != 0 || strings.Contains(errs, "not signed") {
		tb.Fatalf("%s report: status %d: %s%s", name, status, text, errs)
	}
	if status, text = command(tb, "verify", "--report", day, "--key", newest, "--data-dir", dir); status != 0 {
		tb.Errorf("%s report: status %d:\n%s", name, status, text)
	}
	if status, _, errs = commandBoth(tb, "coverage", "--tenant", "acme", "--data-dir", dir); status != 0 {
		tb.Errorf("%s coverage: status %d: %s", name, status, errs)
	}
}

// An attacker without the key of the ledger writes changes.json.
//
//guarantee:rotate-pending
func TestKeyRotate_PendingForged(t *testing.T) {
	b, dir, other := auditortest.Connect(t, auditortest.Server(t)), t.TempDir(), t.TempDir()
	p := auditortest.Outbox(t, b, "coder", "acme")
	auditortest.PublishRun(t, p, "r1", 3)
	drain(t, b, dir)
	drain(t, b, other)
	before := publicKey(t, dir)
	rotateOnce(t, other) // a change of the attacker's keys
	forge := func(edit func(*ledger.KeyRotation)) {
		t.Helper()
		var changes []ledger.KeyRotation
		if err := json.Unmarshal(auditortest.ReadFile(t, filepath.Join(auditor.KeyDir(other), ledger.RotationsFile)), &changes); err != nil {
			t.Fatal(err)
		}
		edit(&changes[0])
		text, err := json.Marshal(changes)
		if err == nil {
			err = os.WriteFile(filepath.Join(auditor.KeyDir(dir), ledger.RotationsFile), text, 0o600)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(auditor.KeyDir(dir), ledger.VerifierFile), []byte(publicKey(t, other)), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, edit := range map[string]func(*ledger.KeyRotation){
		"as it is":     func(*ledger.KeyRotation) {},
		"in its place": func(c *ledger.KeyRotation) { c.Old = before },
	} {
		forge(edit)
		if r := report(t, verifier.ExitInvalid, "--data-dir", dir); len(r.PendingKeys) != 0 {
			t.Errorf("%s: pending %+v", name, r.PendingKeys)
		}
	}
}
