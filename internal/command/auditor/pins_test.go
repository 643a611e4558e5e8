package auditor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

func recorded(tb testing.TB) (dir string) {
	tb.Helper()
	b := auditortest.Connect(tb, auditortest.Server(tb))
	dir = tb.TempDir()
	auditortest.PublishRun(tb, auditortest.Outbox(tb, b, "coder", "acme"), "r1", 5)
	drain(tb, b, dir)
	return dir
}

// forged is a recorded data directory that an attacker wrote again with another key. It also
// returns the ids of the pinned key and of the attacker's.
func forged(tb testing.TB) (dir, pinned, own string) {
	tb.Helper()
	dir, other := recorded(tb), recorded(tb)
	pinned, own = idOf(publicKey(tb, dir)), idOf(publicKey(tb, other))
	for _, name := range []string{"keys", "ledger"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			tb.Fatal(err)
		}
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(other, name))); err != nil {
			tb.Fatal(err)
		}
	}
	return dir, pinned, own
}

func checkStatus(tb testing.TB, want int, args []string, texts ...string) {
	tb.Helper()
	status, out, errs := commandBoth(tb, args...)
	for _, text := range texts {
		if !strings.Contains(out+errs, text) {
			tb.Errorf("%v: want %q", args, text)
		}
	}
	if status != want || tb.Failed() {
		tb.Fatalf("%v: got status %d, want %d:\n%s%s", args, status, want, out, errs)
	}
}

func noPins(tb testing.TB) []string {
	tb.Helper()
	return []string{"--known-ledgers", filepath.Join(tb.TempDir(), "known_ledgers")}
}

// An attacker writes all ledgers again with another key and overwrites ledger.pub.
//
//guarantee:anchor-pinned
func TestPins_LedgersRewritten(t *testing.T) {
	dir, pinned, own := forged(t)
	at := []string{"--data-dir", dir, "--tenant", "acme"}
	verify := append([]string{"verify"}, at...)
	both := []string{"Integrity:    VERIFIED", "\nAnchor:       DIVERGED ", pinned, own, "auditor key pin --key"}
	checkStatus(t, verifier.ExitDiverged, verify, both...)
	checkStatus(t, verifier.ExitDiverged, append(verify, "--key", publicKey(t, dir)), both...)
	checkStatus(t, verifier.ExitDiverged, append(verify, "--ledger", auditortest.LedgerFile(t, dir, "acme")), both...)
	checkStatus(t, verifier.ExitDiverged, append([]string{"coverage"}, at...), "anchor DIVERGED")
	checkStatus(t, verifier.ExitUnanchored, append(verify, noPins(t)...), "\nAnchor:       NONE ", own, "auditor key pin")
	checkStatus(t, verifier.ExitUnanchored, append(append([]string{"coverage"}, at...), noPins(t)...), "anchor NONE")

	// The auditor does not accept the key either.
	b := auditortest.Connect(t, auditortest.Server(t))
	if err := tryDrain(t, auditor.Options{Broker: b, DataDir: dir}); err != nil {
		t.Log(err)
	}
	checkStatus(t, verifier.ExitDiverged, verify, both...)
	checkStatus(t, 0, []string{"key", "--data-dir", dir}, "anchor DIVERGED the key is "+own)
	checkStatus(t, 1, []string{"key", "pin", "--data-dir", dir}, pinned, own, "--key")
	checkStatus(t, 0, []string{"key", "pin", "--data-dir", dir, "--key", publicKey(t, dir)}, "pinned key "+own+" of "+dir, "instead of "+pinned)
	checkStatus(t, verifier.ExitIncomplete, verify, "\nAnchor:       PINNED       key "+own+", first seen ") // the stream is another one
}

// A checkpoint that was stored earlier shows the rewrite too, also if jq wrote it.
//
//guarantee:anchor-other-key
func TestPins_KeptCheckpoint(t *testing.T) {
	kept, other := recorded(t), recorded(t)
	note := auditortest.Verify(t, kept, "acme").Checkpoint.Note
	file := filepath.Join(t.TempDir(), "acme.checkpoint")
	for _, end := range []string{"", "\n", "\n\n"} {
		if err := os.WriteFile(file, []byte(note+end), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, flag := range []string{"--trusted", "--checkpoint-file"} {
			on := func(dir string) []string {
				return append([]string{"verify", "--tenant", "acme", "--data-dir", dir, flag, file}, noPins(t)...)
			}
			checkStatus(t, verifier.ExitDiverged, on(other), "DIVERGED", idOf(publicKey(t, kept)), idOf(publicKey(t, other)))
			checkStatus(t, verifier.ExitVerified, on(kept), "AGREES", "\nAnchor:       GIVEN        by ")
		}
	}
}

// Without an anchor the exit status is 21, unless something is worse. verify itself pins nothing.
//
//guarantee:anchor-none
func TestPins_None(t *testing.T) {
	dir, none := recorded(t), noPins(t)
	verify := append([]string{"verify", "--tenant", "acme", "--data-dir", dir}, none...)
	checkStatus(t, verifier.ExitUnanchored, verify, "\nAnchor:       NONE ", "--key", "auditor key pin")
	checkStatus(t, verifier.ExitUnanchored, append(verify, "--require-trusted"), "\nAnchor:       NONE ", "NOT FOUND")
	checkStatus(t, verifier.ExitUnanchored, append(verify, "--json"), `"state": "NONE"`, `"exit": 21`)
	checkStatus(t, verifier.ExitVerified, append(verify, "--key", publicKey(t, dir)), "\nAnchor:       GIVEN        by --key\n")
	// A file next to the ledger could have been replaced with it.
	own := filepath.Join(dir, "keys", ledger.VerifierFile)
	link := filepath.Join(t.TempDir(), "key")
	if err := os.Symlink(own, link); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{own, link} {
		for _, named := range [][]string{nil, {"--ledger", filepath.Join(dir, "ledger", "acme", "ledger.db")}} {
			checkStatus(t, verifier.ExitUnanchored, append(append(verify, "--key", file), named...), "\nAnchor:       NONE ", "the file of the data directory itself")
		}
	}
	checkStatus(t, verifier.ExitInvalid, append(verify, "--key", otherKey(t)), "INVALID")
	if _, err := os.Stat(none[1]); !os.IsNotExist(err) {
		t.Errorf("verify wrote %s: %v", none[1], err)
	}
	if err := os.WriteFile(none[1], []byte("nonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	checkStatus(t, 1, verify, "line 1")
	checkStatus(t, 0, append([]string{"key", "pin", "--data-dir", dir}, noPins(t)...), "pinned key ")
}

// A bundle or proof verifies with a pinned key, but not with the key that it contains.
//
//guarantee:anchor-exported
func TestPins_Exported(t *testing.T) {
	dir, stranger, away := recorded(t), recorded(t), t.TempDir()
	key := publicKey(t, dir)
	bundle := func(of string) string {
		t.Helper()
		out := filepath.Join(t.TempDir(), "r1.zip")
		checkStatus(t, 0, []string{"export", "--run", "r1", "--data-dir", of, "--tenant", "acme", "--out", out})
		return out
	}
	proof := func(of string) string {
		t.Helper()
		r, err := ledger.OpenReader(auditortest.LedgerFile(t, of, "acme"))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		p, err := ProveLeaf(t.Context(), r, 0)
		if err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), "proof")
		auditortest.Put(t, out, string(p.Encode()))
		return out
	}
	empty := noPins(t)
	checkStatus(t, 0, append([]string{"key", "pin", "--data-dir", away, "--tenant", "acme", "--key", key}, noPins(t)...), "of "+away)
	checkStatus(t, 0, append([]string{"key", "pin", "--tenant", "acme", "--key", key}, empty...), "of hooktrail/acme in ")
	for _, args := range [][]string{{bundle(dir)}, {"--proof", proof(dir)}} {
		verify := append([]string{"verify", "--data-dir", away}, args...)
		checkStatus(t, verifier.ExitVerified, verify, "\nAnchor:       PINNED       key "+idOf(key)+", first seen ", " in "+dir)
		checkStatus(t, verifier.ExitVerified, append(verify, empty...), "PINNED")
		checkStatus(t, verifier.ExitVerified, append(verify, "--key", key), "GIVEN")
	}
	only := noPins(t)
	checkStatus(t, 0, append([]string{"key", "pin", "--data-dir", dir}, only...))
	for _, args := range [][]string{{bundle(stranger)}, {"--proof", proof(stranger)}} {
		verify := append([]string{"verify", "--data-dir", stranger}, args...)
		checkStatus(t, verifier.ExitUnanchored, append(verify, only...), "\nAnchor:       NONE ", idOf(publicKey(t, stranger)))
		checkStatus(t, verifier.ExitDiverged, append(verify, empty...), "\nAnchor:       DIVERGED ", idOf(key))
		checkStatus(t, verifier.ExitInvalid, append(verify, "--key", key), "INVALID")
	}
}

// Signed changes connect a pin to the current key. They are in the ledger, and for younger ledgers
// in the keys folder.
//
//guarantee:anchor-pinned
func TestPins_Rotation(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder", "acme"), "r1", 5)
	drain(t, b, dir)
	file := os.Getenv(cli.EnvName("known-ledgers"))
	first := idOf(publicKey(t, dir))
	absent := noPins(t)
	checkStatus(t, 0, append([]string{"key", "pin", "--data-dir", dir}, absent...))
	rotateOnce(t, dir)
	second := idOf(publicKey(t, dir))
	if text := string(auditortest.ReadFile(t, file)); !strings.Contains(text, publicKey(t, dir)) || strings.Contains(text, first) {
		t.Errorf("the pin of the user who rotated the key:\n%s", text)
	}
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder2", "late"), "r1", 5)
	drain(t, b, dir)
	for _, tenant := range []string{"acme", "late"} {
		verify := []string{"verify", "--data-dir", dir, "--tenant", tenant}
		checkStatus(t, verifier.ExitVerified, verify, "PINNED       key "+second)
		checkStatus(t, verifier.ExitVerified, append(verify, absent...), "PINNED       key ")
	}
	if text := string(auditortest.ReadFile(t, absent[1])); !strings.Contains(text, first) {
		t.Errorf("verify changed the pin:\n%s", text)
	}
	// An auditor of that user accepts the signed change too.
	if err := auditor.Run(auditortest.Deadline(t), auditor.Options{Broker: b, DataDir: dir, Drain: true, KnownLedgers: absent[1]}); err != nil {
		t.Fatal(err)
	}
	if text := string(auditortest.ReadFile(t, absent[1])); !strings.Contains(text, second) || strings.Contains(text, first) {
		t.Errorf("the auditor did not replace the pin:\n%s", text)
	}
	// An unsigned change does not count.
	changes := filepath.Join(auditor.KeyDir(dir), ledger.RotationsFile)
	auditortest.Put(t, changes, strings.ReplaceAll(string(auditortest.ReadFile(t, changes)), "order/v1", "order/v2"))
	late := noPins(t)
	auditortest.Put(t, late[1], "")
	_, text, err := ledger.ReadVerifier(auditor.KeyDir(dir))
	if err != nil {
		t.Fatal(err)
	}
	_, rotated, err := ledger.ReadChain(auditor.KeyDir(dir), text)
	if err != nil {
		t.Fatal(err)
	}
	checkStatus(t, 0, append([]string{"key", "pin", "--data-dir", dir, "--key", rotated[0].Old}, late...))
	checkStatus(t, verifier.ExitDiverged, append([]string{"verify", "--data-dir", dir, "--tenant", "late"}, late...), first, second)
}

// The first start pins the key and logs that. Later ones are silent.
//
//guarantee:anchor-pinned
func TestPins_Serve(t *testing.T) {
	s, dir, file := auditortest.Server(t), t.TempDir(), noPins(t)
	serve := append([]string{"serve", "--drain", "--nats-url", s.URL(), "--data-dir", dir}, file...)
	for i, want := range []int{1, 0} {
		status, _, errs := commandBoth(t, serve...)
		if status != 0 || strings.Count(errs, "pinned key") != want || want == 1 && (!strings.Contains(errs, dir) || !strings.Contains(errs, file[1])) {
			t.Errorf("start %d: status %d, want %d messages:\n%s", i+1, status, want, errs)
		}
	}
	if info, err := os.Stat(file[1]); err != nil || info.Mode() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
}
