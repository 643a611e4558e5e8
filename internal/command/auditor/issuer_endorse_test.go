package auditor

import (
	"os"
	"path/filepath"
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
	dir, other := t.TempDir(), filepath.Join(t.TempDir(), "publisher")
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
