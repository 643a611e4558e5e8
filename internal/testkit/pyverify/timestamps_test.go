package pyverify_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor/timestamp"
	"github.com/hooktrail/hooktrail/internal/evidence/anchor/timestamp/timestamptest"
	"github.com/hooktrail/hooktrail/internal/evidence/bundle"
	"github.com/hooktrail/hooktrail/internal/evidence/bundle/bundletest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/testkit/pyverify"
)

// TestVerifier_TimeStamp compares the verdicts about bundles with a time stamp of an older
// checkpoint, and with a damaged one.
func TestVerifier_TimeStamp(t *testing.T) {
	if !timestamptest.Has(t) {
		t.Skip("there is no authority for time stamps")
	}
	v, key, dir, f := start(t), ledgertest.NewKey(t), t.TempDir(), ledgertest.NewFeed("acme")
	f.Run("p", "r1", 3)
	path := ledgertest.Write(t, dir, key, f, 4)
	note := []byte(ledgertest.Checked(t, path, key).Checkpoint.Note)
	u, err := timestamp.ParseURL(timestamptest.New(t, timestamptest.Options{}).URL)
	if err != nil {
		t.Fatal(err)
	}
	client := timestamp.NewClient(u)
	defer client.Close()
	der, token, err := client.Stamp(t.Context(), note)
	if err == nil {
		err = timestamp.Write(path, timestamp.Stored{Note: note, Token: der}, ledgertest.Newest(t, path).Size, token)
	}
	if err != nil {
		t.Fatal(err)
	}
	f.Run("p", "r2", 2)
	file := export(t, key, ledgertest.Write(t, dir, key, f, 4), ledger.Selection{Run: "r1"}, true)
	for _, from := range []string{"", "hooktrail/timestamp/v1\n", "hooktrail/acme", "arrivals "} {
		o := bundletest.Open(t, file)
		o.Files["timestamp.txt"] = strings.Replace(o.Files["timestamp.txt"], from, from+"1", len(from))
		path := filepath.Join(t.TempDir(), "bundle.zip")
		if err := os.WriteFile(path, o.Pack(), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := bundle.Check(t.Context(), path, bundle.CheckOptions{Key: ledgertest.VerifierOf(key)})
		if err != nil {
			t.Fatal(err)
		}
		v.Compare(t, pyverify.Request{Path: r.Ledger, Key: key.Public()}, r.Report)
	}
}
