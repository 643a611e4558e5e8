package auditor

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/tracking/tracker"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// endorse --for makes the keys of the ledgers and of the other folders before the first start. Again
// it changes nothing. It makes no key for ledgers that have lost theirs.
//
//guarantee:enrolled
func TestIssuerEndorse_For(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	for range 2 {
		order(t, 0, nil, "issuer", "endorse", "--for", other, "--data-dir", dir)
	}
	path := filepath.Join(other, "keys", "issuer.nk")
	if has, err := (tracker.Options{DataDir: other}).HasOrderKey(); err != nil || !has {
		t.Errorf("a tracker there does not know the key of erasure orders: %v", err)
	}
	issuer, err := publish.OpenIssuer(path)
	if err != nil {
		t.Fatal(err)
	}
	public, err := os.ReadFile(filepath.Join(dir, "keys", "ledger.pub"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := ledger.ParseKey(string(public))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path + publish.EndorsedEnding)
	if err != nil {
		t.Fatal(err)
	}
	if e, err := ledger.OpenEndorsement(string(text), note.VerifierList(key)); err != nil || !e.Covers(issuer.Public(), "acme") {
		t.Errorf("got %+v, %v", e, err)
	}
	for _, args := range [][]string{{}, {issuer.Public(), "--for", other}} {
		order(t, 2, nil, append([]string{"issuer", "endorse", "--data-dir", dir}, args...)...)
	}
	lost := recorded(t)
	if err := os.Remove(filepath.Join(lost, "keys", "ledger.key")); err != nil {
		t.Fatal(err)
	}
	order(t, 1, nil, "issuer", "endorse", "--for", other, "--data-dir", lost)
}

// Root endorses the issuer of another user's data directory. The files belong to that user.
//
//guarantee:enrolled
func TestIssuerEndorse_ForAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files to another user")
	}
	dir, other := t.TempDir(), t.TempDir()
	const nobody = 65534
	if err := os.Chown(other, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		order(t, 0, nil, "issuer", "endorse", "--for", other, "--data-dir", dir)
	}
	names, err := filepath.Glob(filepath.Join(other, "keys", "*"))
	if err != nil || len(names) != 3 { // the issuer, its endorsement and the verifier key
		t.Errorf("got %q, %v", names, err)
	}
	for _, name := range append(names, filepath.Join(other, "keys")) {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); !ok || stat.Uid != nobody || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v and belongs to user %d", name, info.Mode(), stat.Uid)
		}
	}
	key := filepath.Join(other, "keys", "issuer.nk")
	if err := os.Chown(key, 0, 0); err != nil {
		t.Fatal(err)
	}
	order(t, 1, nil, "issuer", "endorse", "--for", other, "--data-dir", dir)
}

// A link in another data directory leads to no file outside of it.
func TestIssuerEndorse_ForWithLinks(t *testing.T) {
	dir, victim := t.TempDir(), t.TempDir()
	inKeys := func(name string) func(string) error {
		return func(other string) error {
			err := os.Mkdir(filepath.Join(other, "keys"), 0o700)
			return errors.Join(err, os.Symlink(filepath.Join(victim, name), filepath.Join(other, "keys", name)))
		}
	}
	for name, link := range map[string]func(other string) error{
		"Folder":       func(other string) error { return os.Symlink(victim, filepath.Join(other, "keys")) },
		"FolderInside": func(other string) error { return os.Symlink(".", filepath.Join(other, "keys")) },
		"Key":          inKeys("issuer.nk"),
		"Endorsement":  inKeys("issuer.nk.endorsed"),
	} {
		t.Run(name, func(t *testing.T) {
			other := t.TempDir()
			if err := link(other); err != nil {
				t.Fatal(err)
			}
			order(t, 1, nil, "issuer", "endorse", "--for", other, "--data-dir", dir)
			if entries, err := os.ReadDir(victim); err != nil || len(entries) > 0 {
				t.Errorf("the other folder has %v, %v", entries, err)
			}
		})
	}
}

// Variables that are named like a selection narrow no verdict.
//
//guarantee:selection-given
func TestVerify_NoSelectionFromTheEnvironment(t *testing.T) {
	dir := recorded(t)
	for name, value := range map[string]string{"RUN": "no-such-run", "FROM": "no time", "TO": "tls://siem:6514", "EVENT": "none", "DAY": "none"} {
		t.Setenv("HOOKTRAIL_"+name, value)
	}
	checkStatus(t, 0, []string{"verify", "--data-dir", dir, "--tenant", "acme"}, "VERIFIED")
	checkStatus(t, 0, []string{"coverage", "--data-dir", dir, "--tenant", "acme"}, "VERIFIED")
}
