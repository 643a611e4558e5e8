package verifier_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// forged returns the feed with one event replaced.
func forged(build func() *ledgertest.Feed) *ledgertest.Feed {
	f := build()
	e, err := events.Decode(f.Messages[3].Data)
	if err != nil {
		panic(err)
	}
	e.Data = []byte(`{"tool":"Forged"}`)
	f.Messages[3].Data = e.Encode()
	return f
}

func TestForgery_HashesComputedAgain(t *testing.T) {
	key, stolen := ledgertest.NewKey(t), ledgertest.NewKey(t)
	honest := ledgertest.Write(t, t.TempDir(), key, ledgertest.BigFeed(), 50)
	lie := ledgertest.Write(t, t.TempDir(), stolen, forged(ledgertest.BigFeed), 50)
	ledgertest.WantInvalid(t, lie, key, "signed by another key")
	ledgertest.WantInvalid(t, ledgertest.PutNotes(t, lie, ledgertest.Notes(t, honest)), key, "under the old checkpoints")
	last := ledgertest.Notes(t, lie)
	ledgertest.WantInvalid(t, ledgertest.PutNotes(t, honest, last), key, "another key's checkpoints")
}

//guarantee:admin-forges
func TestForgery_StolenKey(t *testing.T) {
	key, dir := ledgertest.NewKey(t), t.TempDir()
	honest := ledgertest.Write(t, dir, key, ledgertest.BigFeed(), 50)
	all := ledgertest.Notes(t, honest)
	lie := ledgertest.Write(t, t.TempDir(), key, forged(ledgertest.BigFeed), 50)
	r := ledgertest.Verify(t, lie, key, verifier.Options{Tenant: "acme"})
	if r.Integrity != verifier.Verified {
		t.Fatalf("a forgery with the key itself: got %s", r.Integrity)
	}
	for i, trusted := range []string{all[len(all)-1], all[1]} {
		r := ledgertest.Verify(t, lie, key, verifier.Options{Trusted: []byte(trusted)})
		if r.Exit != verifier.ExitDiverged || r.Trusted == nil || !r.Trusted.Diverged {
			t.Errorf("trusted checkpoint %d: got exit %d, %+v", i, r.Exit, r.Trusted)
		}
		r = ledgertest.Verify(t, honest, key, verifier.Options{Trusted: []byte(trusted), RequireTrusted: true})
		if r.Exit != verifier.ExitVerified || r.Trusted == nil || r.Trusted.Diverged {
			t.Errorf("honest ledger, trusted checkpoint %d: got exit %d, %+v", i, r.Exit, r.Trusted)
		}
	}
	if r := ledgertest.Verify(t, honest, key, verifier.Options{RequireTrusted: true}); r.Exit != verifier.ExitUntrusted {
		t.Errorf("no trusted checkpoint: got exit %d, want %d", r.Exit, verifier.ExitUntrusted)
	}
	if _, err := verifier.Verify(t.Context(), honest, verifier.Options{Key: ledgertest.VerifierOf(key), Trusted: []byte("nonsense")}); err == nil {
		t.Error("a trusted checkpoint that is none was taken")
	}
}

//guarantee:verify-truncated
func TestForgery_Truncated(t *testing.T) {
	key, f := ledgertest.NewKey(t), ledgertest.BigFeed()
	path := ledgertest.Write(t, t.TempDir(), key, f, 50)
	all := ledgertest.Notes(t, path)
	trusted := []byte(all[len(all)-1])

	tail := []string{
		"DELETE FROM leaves WHERE leaf >= 100", "DELETE FROM payloads WHERE leaf >= 100", "DELETE FROM seen",
		"DELETE FROM chunks", "DELETE FROM blobs", "DELETE FROM producers WHERE producer > 1", "DELETE FROM runs WHERE run > 1",
		"UPDATE hashes SET bytes = substr(bytes, 1, 32*197) WHERE chunk = 0", "DELETE FROM hashes WHERE chunk > 0",
	}
	cut, _ := ledgertest.Attack(t, path, tail...)
	ledgertest.WantInvalid(t, cut, key, "the tail is gone")
	// The file is cut after a checkpoint, together with the later checkpoints.
	older, ok := ledgertest.Attack(t, path, append(tail, "DELETE FROM checkpoints WHERE size > 100")...)
	if !ok {
		t.Fatal("the attack did not work")
	}
	r := ledgertest.Verify(t, older, key, verifier.Options{})
	if r.Integrity != verifier.Verified || r.Leaves != 100 {
		t.Errorf("an older copy: got %s, %d leaves, %q", r.Integrity, r.Leaves, r.Problems)
	}
	if r := ledgertest.Verify(t, older, key, verifier.Options{Trusted: trusted}); r.Exit != verifier.ExitDiverged {
		t.Errorf("an older copy against a trusted checkpoint: got exit %d, want %d", r.Exit, verifier.ExitDiverged)
	}
	// The file is cut between two checkpoints, and a thief signs it again.
	short := *f
	short.Messages = f.Messages[:77]
	signed := ledgertest.Write(t, t.TempDir(), key, &short, 1000)
	if r := ledgertest.Verify(t, signed, key, verifier.Options{Trusted: trusted}); r.Integrity != verifier.Verified || r.Exit != verifier.ExitDiverged {
		t.Errorf("signed again: got %s, exit %d", r.Integrity, r.Exit)
	}
	ledgertest.WantInvalid(t, ledgertest.PutNotes(t, signed, all[:1]), key, "leaves that no checkpoint signs")
	ledgertest.WantInvalid(t, ledgertest.PutNotes(t, signed, all), key, "later checkpoints than leaves")
}

func TestForgery_LedgersSwapped(t *testing.T) {
	key := ledgertest.NewKey(t)
	other := ledgertest.NewFeed("other")
	other.Run("p", "r1", 3)
	path := ledgertest.Write(t, t.TempDir(), key, other, 1000)
	ledgertest.WantInvalid(t, path, key, "another tenant's ledger")
}

//guarantee:verify-other-file
func TestForgery_NoDatabase(t *testing.T) {
	key := ledgertest.NewKey(t)
	path := filepath.Join(t.TempDir(), ledger.FileName)
	for what, content := range map[string]string{"text": "this is no database at all, and it is longer than a header of one hundred bytes ............", "empty": ""} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		ledgertest.WantInvalid(t, path, key, what)
	}
	if _, err := verifier.Verify(t.Context(), path+"x", verifier.Options{Key: ledgertest.VerifierOf(key)}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: got %v", err)
	}
}

func TestVerify_NoVerdictOnWhatCannotBeRead(t *testing.T) {
	key := ledgertest.NewKey(t)
	if r, err := verifier.Verify(t.Context(), t.TempDir(), verifier.Options{Key: ledgertest.VerifierOf(key)}); err == nil {
		t.Errorf("a folder: got %s, %q", r.Integrity, r.Problems)
	}
}
