package pyverify_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/bundle"
	"github.com/hooktrail/hooktrail/internal/evidence/bundle/bundletest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/testkit/pyverify"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// rotating is a ledger whose key was replaced twice. The auditor has not recorded the changes.
type rotating struct {
	folder, path string
	f            *ledgertest.Feed
	keys         []*writer.Key // the oldest first
}

func newRotating(t *testing.T) *rotating {
	t.Helper()
	r := &rotating{folder: t.TempDir(), f: ledgertest.GauntletFeed()}
	dir, f, old := t.TempDir(), r.f, openKey(t, r.folder)
	f.Secretive("coder/e4", "secret", "jane", 3)
	f.Order(t, old, ledger.Order{Action: events.AuditIssuer, Issuer: ledgertest.PublicKey("owner")})
	f.Order(t, old, ledger.Order{Action: events.AuditFloor, Floor: time.Second})
	f.Enrol("granted", "owner")
	f.Run("granted", "r9", 1)
	r.path = ledgertest.Write(t, dir, old, f, 7)
	f.Order(t, old, ledgertest.Resolved(t, r.path, ledgertest.EraseRun("secret")))
	f.Manifest("auditor/e1")
	r.path = ledgertest.Continued(t, dir, old, f, 7)
	r.keys = append(r.keys, old)
	r.rotate(t)
	r.rotate(t)
	return r
}

func (r *rotating) rotate(t *testing.T) {
	t.Helper()
	newest := ledgertest.Verify(t, r.path, r.keys[0], verifier.Options{}).Checkpoint.Note
	rotation := writer.Rotation{
		Dir: r.folder, Tenants: []string{"acme"}, Newest: map[string][]byte{"acme": []byte(newest)},
		Order: ledger.Order{Time: r.f.Now, By: "jdoe", Reason: "every year"},
	}
	if _, err := writer.Rotate(rotation); err != nil {
		t.Fatal(err)
	}
	r.keys = append(r.keys, openKey(t, r.folder))
}

func (r *rotating) newest() *writer.Key { return r.keys[len(r.keys)-1] }

func (r *rotating) export(t *testing.T, selection ledger.Selection, unsigned bool) string {
	t.Helper()
	opts := bundle.Options{Selection: selection, Key: r.newest().Public(), Changes: ledger.ReadRotations(r.folder)}
	if !unsigned {
		opts.Signer = r.newest().Signer()
	}
	return write(t, r.path, opts)
}

func compareWith(t *testing.T, v *pyverify.Verifier, file string, key *writer.Key) bundle.Report {
	t.Helper()
	r, err := bundle.Check(t.Context(), file, bundle.CheckOptions{Key: ledgertest.VerifierOf(key), RequireEnrolled: true})
	if err != nil {
		t.Fatal(err)
	}
	v.Compare(t, pyverify.Request{Path: file, Key: key.Public(), RequireEnrolled: true}, r.Report)
	return r
}

// Both verifiers judge bundles from before the changes are recorded like the ledger, also if it has
// grown since.
//
//guarantee:rotate-pending
func TestVerifier_KeyPending(t *testing.T) {
	v, p := start(t), newRotating(t)
	compare := func(name string, pending int) {
		opts := verifier.Options{Changes: ledger.ReadRotations(p.folder), RequireEnrolled: true}
		want := ledgertest.Verify(t, p.path, p.newest(), opts)
		if want.Redacted.Erased != 3 || want.Enrolled == 0 || len(want.PendingKeys) != pending {
			t.Fatalf("%s ledger: %d erased, %d enrolled, pending %+v, %q", name, want.Redacted.Erased, want.Enrolled, want.PendingKeys, want.Problems)
		}
		for _, s := range []ledger.Selection{{}, {Run: "secret"}, {Run: "r9"}, {Run: "later"}, {From: ledgertest.Began, Stored: true}} {
			if s.Run == "later" && name == "AtOnce" {
				continue
			}
			signing := []bool{false, true}
			if name != "AtOnce" {
				signing = signing[:1]
			}
			for _, unsigned := range signing {
				file := p.export(t, s, unsigned)
				for i, key := range append(p.keys, ledgertest.NewKey(t)) {
					r := compareWith(t, v, file, key)
					if ours := i < len(p.keys); (r.Integrity == verifier.Verified) != ours || ours && len(r.PendingKeys) != pending {
						t.Errorf("%s, %+v, key %d: %s, pending %+v, %q", name, s, i, r.Integrity, r.PendingKeys, r.Problems)
					}
					if s.IsAll() && !unsigned && i < len(p.keys) && (r.Completeness != want.Completeness || r.Enrolled != want.Enrolled || r.Exit != want.Exit) {
						t.Errorf("%s, key %d: %s, %d enrolled, exit %d, but the ledger %s, %d, %d", name, i, r.Completeness, r.Enrolled, r.Exit,
							want.Completeness, want.Enrolled, want.Exit)
					}
					if s.Run == "later" && !unsigned && i < len(p.keys) && r.Completeness != verifier.Complete {
						t.Errorf("%s, key %d: %s, %+v", name, i, r.Completeness, r.Gaps)
					}
				}
			}
		}
	}
	compare("AtOnce", 2)
	p.f.Run("granted", "later", 2)
	ledgertest.Continued(t, filepath.Dir(filepath.Dir(p.path)), p.newest(), p.f, 7)
	compare("Grown", 2)
	p.f.Signed(p.newest().Changes("acme", 0)[0])
	p.f.Manifest("auditor/e1")
	ledgertest.Continued(t, filepath.Dir(filepath.Dir(p.path)), p.newest(), p.f, 7)
	compare("OneRecorded", 1)
}

// A thief of a replaced key cannot use a pending change to sign a bundle.
//
//guarantee:rotate-pending
func TestVerifier_KeyPendingForged(t *testing.T) {
	v, p := start(t), newRotating(t)
	file := p.export(t, ledger.Selection{Run: "r9"}, false)
	forged := func(o *bundletest.Opened) string {
		path := filepath.Join(t.TempDir(), "forged.zip")
		if err := os.WriteFile(path, o.Pack(), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	old := p.keys[0]
	var pending any
	bundletest.Open(t, file).EditAbout(func(about map[string]any) { pending = about["pending"] })
	for name, forge := range map[string]func(o *bundletest.Opened){
		"Selection": func(o *bundletest.Opened) { o.Resign(old.Signer()) },
		"Checkpoint": func(o *bundletest.Opened) {
			c, err := ledger.ReadCheckpoint([]byte(o.Files["checkpoint.txt"]))
			if err != nil {
				t.Fatal(err)
			}
			signed, err := c.Sign(old.Signer())
			if err != nil {
				t.Fatal(err)
			}
			o.Files["checkpoint.txt"], o.Files["selection.txt"] = string(signed), ""
		},
		"OtherHistory": func(o *bundletest.Opened) {
			f := ledgertest.NewFeed("acme")
			f.Run("granted", "r9", 3)
			path := ledgertest.Write(t, t.TempDir(), old, f, 9)
			other := bundletest.Open(t, export(t, old, path, ledger.Selection{Run: "r9"}, true))
			other.EditAbout(func(about map[string]any) { about["pending"] = pending })
			other.Files["ledger.pub"] = o.Files["ledger.pub"]
			o.Files = other.Files
		},
		"WithoutChange": func(o *bundletest.Opened) {
			o.EditAbout(func(about map[string]any) { delete(about, "pending") })
			o.Files["selection.txt"] = ""
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := bundletest.Open(t, file)
			forge(o)
			if r := compareWith(t, v, forged(o), p.newest()); r.Integrity != verifier.Invalid {
				t.Errorf("got %s", r.Integrity)
			}
		})
	}
}
