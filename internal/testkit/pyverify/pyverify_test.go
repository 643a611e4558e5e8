package pyverify_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/bundle"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/testkit/pyverify"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func start(t *testing.T) *pyverify.Verifier {
	t.Helper()
	v := pyverify.Start(t)
	if v == nil {
		t.Skip("the second verifier cannot run")
	}
	return v
}

// export writes a bundle of a ledger, with or without a signed selection, and returns its file.
func export(t *testing.T, key *writer.Key, path string, selection ledger.Selection, unsigned bool) string {
	t.Helper()
	opts := bundle.Options{Selection: selection, Key: key.Public(), Signer: key.Signer()}
	if unsigned {
		opts.Signer = nil
	}
	return write(t, path, opts)
}

// exportAny is export also for ledgers that are INVALID, without a signed selection.
func exportAny(t *testing.T, key *writer.Key, path string, selection ledger.Selection) string {
	t.Helper()
	unsigned := ledgertest.Checked(t, path, key).Integrity != verifier.Verified
	return export(t, key, path, selection, unsigned)
}

func write(t *testing.T, path string, opts bundle.Options) string {
	t.Helper()
	r, err := ledger.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }() // it was only read
	f, err := os.Create(filepath.Join(t.TempDir(), "bundle.zip"))
	if err != nil {
		t.Fatal(err)
	}
	if err := bundle.WriteBundle(t.Context(), f, r, opts); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}

// Both verifiers agree about a ledger with a blob, repetitions, conflicts, holds and erased runs,
// and about its bundles.
//
//guarantee:second-verifier
func TestVerifier_Orders(t *testing.T) {
	v, key, dir := start(t), ledgertest.NewKey(t), t.TempDir()
	f := ledgertest.GauntletFeed()
	f.Secretive("coder/e4", "secret", "jane", 3)
	f.Secretive("coder/e4", "held", "joe", 3)
	f.Manifest("coder/e4")
	path := ledgertest.Write(t, dir, key, f, 7)
	compare := func() verifier.Report {
		t.Helper()
		r := ledgertest.Checked(t, path, key)
		v.Compare(t, pyverify.Request{Path: path, Key: key.Public(), Tenant: f.Tenant}, r)
		return r
	}
	kept := compare().Checkpoint.Note

	hold := f.Order(t, key, ledgertest.Resolved(t, path, ledger.Order{Action: events.AuditHold, Selection: ledger.OrderSelection{Run: "held"}}))
	for _, run := range []string{"secret", "held", "r1"} {
		f.Order(t, key, ledgertest.Resolved(t, path, ledgertest.EraseRun(run)))
	}
	f.Order(t, key, ledger.Order{Action: events.AuditLift, Hold: hold.ID})
	f.Order(t, key, ledger.Order{Action: events.AuditLift, Hold: hold.ID}) // already lifted
	f.Order(t, ledgertest.NewKey(t), ledgertest.Resolved(t, path, ledgertest.EraseRun("held")))
	f.Manifest("auditor/e1")
	ledgertest.Continued(t, dir, key, f, 7)
	if r := compare(); r.Redacted.Erased == 0 || r.Integrity != verifier.Verified {
		t.Errorf("got %s, %d erased", r.Integrity, r.Redacted.Erased)
	}
	v.Compare(t, pyverify.Request{Path: path, Key: key.Public(), Trusted: kept}, ledgertest.Verify(t, path, key, verifier.Options{Trusted: []byte(kept)}))

	half := f.Messages[len(f.Messages)/2].Stored
	for _, selection := range []ledger.Selection{
		{}, {Run: "secret"}, {Run: "held"}, {Run: "r1"}, {From: f.Now.Add(-10 * time.Second)}, {From: half, Stored: true}, {To: half, Stored: true}, {Run: "r1", From: ledgertest.Began, Stored: true},
	} {
		for _, unsigned := range []bool{false, true} {
			file := export(t, key, path, selection, unsigned)
			r, err := bundle.Check(context.WithoutCancel(t.Context()), file, bundle.CheckOptions{Key: ledgertest.VerifierOf(key)})
			if err != nil {
				t.Fatal(err)
			}
			v.Compare(t, pyverify.Request{Path: file, Key: key.Public()}, r.Report)
		}
	}
}

// Both verifiers agree about a ledger and a bundle whose key changed, given the new key, the old
// key, and an unrelated key.
func TestVerifier_KeyChanged(t *testing.T) {
	v, keys, dir, f := start(t), t.TempDir(), t.TempDir(), ledgertest.GauntletFeed()
	old := openKey(t, keys)
	path := ledgertest.Write(t, dir, old, f, 7)
	f.Order(t, old, ledgertest.Resolved(t, path, ledgertest.EraseRun("r1")))
	f.Manifest("auditor/e1")
	ledgertest.Continued(t, dir, old, f, 7)
	rotation := writer.Rotation{Dir: keys, Tenants: []string{f.Tenant}, Order: ledger.Order{Time: f.Now, By: "jdoe", Reason: "every year"}}
	if _, err := writer.Rotate(rotation); err != nil {
		t.Fatal(err)
	}
	key := openKey(t, keys)
	f.Changes(key, 0)
	f.Order(t, old, ledgertest.Resolved(t, path, ledgertest.EraseRun("r2"))) // without effect
	f.Manifest("auditor/e1")
	ledgertest.Continued(t, dir, key, f, 7)
	file := export(t, key, path, ledger.Selection{}, false)
	for _, k := range []*writer.Key{key, old, ledgertest.NewKey(t)} {
		v.Compare(t, pyverify.Request{Path: path, Key: k.Public()}, ledgertest.Checked(t, path, k))
		r, err := bundle.Check(t.Context(), file, bundle.CheckOptions{Key: ledgertest.VerifierOf(k)})
		if err != nil {
			t.Fatal(err)
		}
		v.Compare(t, pyverify.Request{Path: file, Key: k.Public()}, r.Report)
	}
}

func openKey(t *testing.T, dir string) *writer.Key {
	t.Helper()
	key, err := writer.OpenKey(dir)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// TestVerifier_OlderBundles compares the verdicts about bundles of version 1.
func TestVerifier_OlderBundles(t *testing.T) {
	v, dir := start(t), filepath.Join("..", "..", "evidence", "bundle", "testdata", "v1")
	text := read(t, dir, "ledger.pub")
	key, public, err := ledger.ParseVerifier(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"all.zip", "run.zip"} {
		path := filepath.Join(dir, name)
		r, err := bundle.Check(t.Context(), path, bundle.CheckOptions{Key: key})
		if err != nil {
			t.Fatal(err)
		}
		v.Compare(t, pyverify.Request{Path: path, Key: public}, r.Report)
	}
}
