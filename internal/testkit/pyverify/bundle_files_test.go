package pyverify_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/bundle"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/testkit/pyverify"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Both verifiers refuse a bundle with another file in it, even if its checksums are right.
func TestVerifier_BundleFiles(t *testing.T) {
	v := start(t)
	f, key := ledgertest.NewFeed("acme"), ledgertest.NewKey(t)
	f.Open("p", time.Hour)
	f.Run("p", "r1", 2)
	path := ledgertest.Write(t, t.TempDir(), key, f, 1000)
	whole := export(t, key, path, ledger.Selection{Run: "r1"}, false)
	for name, change := range map[string]func(file, content string, add func(name, content string)){
		"None": func(file, content string, add func(name, content string)) { add(file, content) },
		"OtherKey": func(file, content string, add func(name, content string)) {
			if file == "ledger.pub" {
				content = ledgertest.NewKey(t).Public() + "\n"
			}
			add(file, content)
		},
		"PageInAnotherCase": func(file, content string, add func(name, content string)) {
			add(file, content)
			if file == "index.html" {
				add("INDEX.HTML", "<script>")
			}
		},
		"Signature": func(file, content string, add func(name, content string)) {
			if file == "selection.txt" {
				content += "— other AAAAAAAA\n"
			}
			add(file, content)
		},
	} {
		t.Run(name, func(t *testing.T) {
			changed := rewriteZip(t, whole, change)
			b, err := bundle.Check(t.Context(), changed, bundle.CheckOptions{Key: ledgertest.VerifierOf(key)})
			if err != nil {
				t.Fatal(err)
			}
			second := v.Verify(t, pyverify.Request{Path: changed, Key: key.Public()})
			if b.Exit != second.Exit || (b.Exit == 0) != (name == "None") {
				t.Errorf("exit %d, second verifier %d: %v, %s", b.Exit, second.Exit, b.Problems, second.Problem)
			}
		})
	}
}

// rewriteZip passes each file of a bundle through change and computes the checksums again.
func rewriteZip(t *testing.T, path string, change func(file, content string, add func(name, content string))) string {
	t.Helper()
	in, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var out, sums bytes.Buffer
	w := zip.NewWriter(&out)
	add := func(name, content string) {
		if name == "SHA256SUMS" {
			content = sums.String()
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256([]byte(content)), name)
		to, err := w.Create(name)
		if err == nil {
			_, err = io.WriteString(to, content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range in.File {
		content, err := readZipped(f)
		if err != nil {
			t.Fatal(err)
		}
		change(f.Name, content, add)
	}
	file := filepath.Join(t.TempDir(), "changed.zip")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func readZipped(f *zip.File) (string, error) {
	r, err := f.Open()
	if err != nil {
		return "", err
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	return string(data), err
}

// The order that added an issuer does not count again after the issuer was revoked.
func TestVerifier_IssuerOrderRepeated(t *testing.T) {
	v := start(t)
	f, key := ledgertest.NewFeed("acme"), ledgertest.NewKey(t)
	f.Open("auditor/e1", time.Hour)
	f.Order(t, key, ledger.Order{Action: events.AuditIssuer, Issuer: ledgertest.PublicKey("thief")})
	added, err := events.Decode(f.Messages[len(f.Messages)-1].Data)
	if err != nil {
		t.Fatal(err)
	}
	f.Order(t, key, ledger.Order{Action: events.AuditRevoke, Issuer: ledgertest.PublicKey("thief")})
	added.ID = events.DeriveID("repeated")
	f.Publish("auditor/e1", added)
	f.Manifest("auditor/e1")
	f.Enrol("ghost", "thief")
	f.Run("ghost", "r1", 1)
	path := ledgertest.Write(t, t.TempDir(), key, f, 1000)
	whole := export(t, key, path, ledger.Selection{}, false)
	r := ledgertest.Verify(t, path, key, verifier.Options{Tenant: "acme", RequireEnrolled: true})
	b, err := bundle.Check(t.Context(), whole, bundle.CheckOptions{Key: ledgertest.VerifierOf(key), RequireEnrolled: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range append(r.Producers, b.Producers...) {
		if p.Name == "ghost" && p.Enrolled {
			t.Error("a revoked issuer enrols")
		}
	}
	first := v.Verify(t, pyverify.Request{Path: path, Key: key.Public(), Tenant: "acme", RequireEnrolled: true})
	second := v.Verify(t, pyverify.Request{Path: whole, Key: key.Public(), RequireEnrolled: true})
	if r.Exit != first.Exit || b.Exit != second.Exit || r.Exit == 0 || b.Exit == 0 {
		t.Errorf("ledger %d, bundle %d, second verifier %d and %d", r.Exit, b.Exit, first.Exit, second.Exit)
	}
}
