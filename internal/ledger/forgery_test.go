package ledger

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// forged returns the feed as it would be had one event been another.
func forged(build func() *feed) *feed {
	f := build()
	e, err := events.Decode(f.messages[3].Data)
	if err != nil {
		panic(err)
	}
	e.Data = []byte(`{"tool":"Forged"}`)
	f.messages[3].Data = e.Encode()
	return f
}

func TestForgery_HashesComputedAgain(t *testing.T) {
	key, stolen := testKey(t), testKey(t)
	honest := write(t, t.TempDir(), key, bigFeed(), 50)
	lie := write(t, t.TempDir(), stolen, forged(bigFeed), 50)
	wantInvalid(t, lie, key, "signed by another key")
	wantInvalid(t, putNotes(t, lie, notes(t, honest)), key, "under the old checkpoints")
	last := notes(t, lie)
	wantInvalid(t, putNotes(t, honest, last), key, "another key's checkpoints")
}

func TestForgery_StolenKey(t *testing.T) {
	key, dir := testKey(t), t.TempDir()
	honest := write(t, dir, key, bigFeed(), 50)
	all := notes(t, honest)
	lie := write(t, t.TempDir(), key, forged(bigFeed), 50)
	r := verify(t, lie, key, VerifyOptions{Tenant: "acme"})
	if r.Integrity != Verified {
		t.Fatalf("a forgery with the key itself: got %s", r.Integrity)
	}
	for i, trusted := range []string{all[len(all)-1], all[1]} {
		r := verify(t, lie, key, VerifyOptions{Trusted: []byte(trusted)})
		if r.Exit != ExitDiverged || r.Trusted == nil || !r.Trusted.Diverged {
			t.Errorf("trusted checkpoint %d: got exit %d, %+v", i, r.Exit, r.Trusted)
		}
		r = verify(t, honest, key, VerifyOptions{Trusted: []byte(trusted), RequireTrusted: true})
		if r.Exit != ExitVerified || r.Trusted == nil || r.Trusted.Diverged {
			t.Errorf("honest ledger, trusted checkpoint %d: got exit %d, %+v", i, r.Exit, r.Trusted)
		}
	}
	if r := verify(t, honest, key, VerifyOptions{RequireTrusted: true}); r.Exit != ExitUntrusted {
		t.Errorf("no trusted checkpoint: got exit %d, want %d", r.Exit, ExitUntrusted)
	}
	if _, err := Verify(t.Context(), honest, VerifyOptions{Key: verifierOf(key), Trusted: []byte("nonsense")}); err == nil {
		t.Error("a trusted checkpoint that is none was taken")
	}
}

func TestForgery_Truncated(t *testing.T) {
	key, f := testKey(t), bigFeed()
	path := write(t, t.TempDir(), key, f, 50)
	all := notes(t, path)
	trusted := []byte(all[len(all)-1])

	tail := []string{
		"DELETE FROM leaves WHERE leaf >= 100", "DELETE FROM payloads WHERE leaf >= 100", "DELETE FROM seen",
		"DELETE FROM chunks", "DELETE FROM blobs", "DELETE FROM producers WHERE producer > 1", "DELETE FROM runs WHERE run > 1",
		"UPDATE hashes SET bytes = substr(bytes, 1, 32*197) WHERE chunk = 0", "DELETE FROM hashes WHERE chunk > 0",
	}
	cut, _ := attack(t, path, tail...)
	wantInvalid(t, cut, key, "the tail is gone")
	// Cut behind a checkpoint, and the later checkpoints too: an older copy.
	older, ok := attack(t, path, append(tail, "DELETE FROM checkpoints WHERE size > 100")...)
	if !ok {
		t.Fatal("the attack did not work")
	}
	r := verify(t, older, key, VerifyOptions{})
	if r.Integrity != Verified || r.Leaves != 100 {
		t.Errorf("an older copy: got %s, %d leaves, %q", r.Integrity, r.Leaves, r.Problems)
	}
	if r := verify(t, older, key, VerifyOptions{Trusted: trusted}); r.Exit != ExitDiverged {
		t.Errorf("an older copy against a trusted checkpoint: got exit %d, want %d", r.Exit, ExitDiverged)
	}
	// Cut between two checkpoints, and signed again by a thief of the key.
	short := *f
	short.messages = f.messages[:77]
	signed := write(t, t.TempDir(), key, &short, 1000)
	if r := verify(t, signed, key, VerifyOptions{Trusted: trusted}); r.Integrity != Verified || r.Exit != ExitDiverged {
		t.Errorf("signed again: got %s, exit %d", r.Integrity, r.Exit)
	}
	wantInvalid(t, putNotes(t, signed, all[:1]), key, "leaves that no checkpoint signs")
	wantInvalid(t, putNotes(t, signed, all), key, "later checkpoints than leaves")
}

func TestForgery_LedgersSwapped(t *testing.T) {
	key := testKey(t)
	other := newFeed("other")
	other.run("p", "r1", 3)
	path := write(t, t.TempDir(), key, other, 1000)
	wantInvalid(t, path, key, "another tenant's ledger")
}

func TestForgery_NoDatabase(t *testing.T) {
	key := testKey(t)
	path := filepath.Join(t.TempDir(), FileName)
	for what, content := range map[string]string{"text": "this is no database at all, and it is longer than a header of one hundred bytes ............", "empty": ""} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		wantInvalid(t, path, key, what)
	}
	if _, err := Verify(t.Context(), path+"x", VerifyOptions{Key: verifierOf(key)}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: got %v", err)
	}
}

// What cannot be read is no evidence of an attack.
func TestVerify_NoVerdictOnWhatCannotBeRead(t *testing.T) {
	key := testKey(t)
	if r, err := Verify(t.Context(), t.TempDir(), VerifyOptions{Key: verifierOf(key)}); err == nil {
		t.Errorf("a folder: got %s, %q", r.Integrity, r.Problems)
	}
}
