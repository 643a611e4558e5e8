package bundle

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/bundle/bundletest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

// Bundles of version 0.1.0 verify with their pages, but are never complete.
//
//guarantee:verify-bundle-selection
func TestCheck_BundlesOfVersion1(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "v1", "ledger.pub"))
	if err != nil {
		t.Fatal(err)
	}
	key, _, err := ledger.ParseVerifier(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]verifier.Completeness{"all.zip": verifier.Unproven, "run.zip": verifier.Unproven} {
		path := filepath.Join("testdata", "v1", name)
		r := check(t, path, CheckOptions{Key: key, Tenant: "acme"})
		if r.Integrity != verifier.Verified || r.Completeness != want || r.NotAttested != unsignedV1 {
			t.Errorf("%s: %s, %s, %q: %q", name, r.Integrity, r.Completeness, r.NotAttested, r.Problems)
		}
		o := bundletest.Open(t, path)
		o.Files[pageFile] += "<script>alert(1)</script>"
		if r := check(t, save(t, o.Pack()), CheckOptions{Key: key}); r.Exit != verifier.ExitInvalid {
			t.Errorf("%s with another page: exit %d", name, r.Exit)
		}
	}
}
