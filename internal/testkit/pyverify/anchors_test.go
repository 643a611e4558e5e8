package pyverify_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	command "github.com/hooktrail/hooktrail/internal/command/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/anchor/witness"
	"github.com/hooktrail/hooktrail/internal/evidence/anchor/witness/witnesstest"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/bundle"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/evidence/transparency"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/testkit/pyverify"
)

// cosigned lets two of three witnesses cosign a checkpoint of a ledger.
func cosigned(t *testing.T, key *writer.Key, path string, signed []byte) (witnesses string) {
	t.Helper()
	client := witness.NewClient()
	defer client.Close()
	c, err := ledger.ReadCheckpoint(signed)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		w := witnesstest.New(t, fmt.Sprintf("w%d.example", i))
		w.Watch(t, "hooktrail/acme", key.Public())
		line := fmt.Sprintf("witness W%d %s %s\n", i, w.VerifierKey, w.URL)
		witnesses += line
		if i == 2 {
			continue
		}
		p := policy(t, line+"quorum none\n")
		cosignature, err := client.Cosign(t.Context(), p.Witnesses[0], witness.Checkpoint{Note: signed, Size: c.Size}, 0)
		if err != nil {
			t.Fatal(err)
		}
		signed = append(signed, cosignature...)
	}
	if err := ledger.WriteWitnessed(path, signed); err != nil {
		t.Fatal(err)
	}
	return witnesses
}

func policy(t *testing.T, text string) *transparency.Policy {
	t.Helper()
	p, err := transparency.ParsePolicy([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return &p
}

// TestVerifier_Witnesses compares whether enough witnesses have cosigned a ledger, its bundles,
// and a ledger that has grown since.
func TestVerifier_Witnesses(t *testing.T) {
	v, key, dir, f := start(t), ledgertest.NewKey(t), t.TempDir(), ledgertest.NewFeed("acme")
	f.Run("p", "r1", 3)
	path := ledgertest.Write(t, dir, key, f, 4)
	first := []byte(ledgertest.Checked(t, path, key).Checkpoint.Note)
	witnesses := cosigned(t, key, path, first)
	other := ledgertest.NewKey(t)
	rules := map[string]string{
		"None": "quorum none\n", "One": "quorum W0\n", "Missing": "quorum W2\n",
		"Two": "group g 2 W0 W1 W2\nquorum g\n", "All": "group g all W0 W1 W2\nquorum g\n", "Any": "group g any W2 W1\nquorum g\n",
		"Groups":   "group a all W0 W1\ngroup b any W2\ngroup g any a b\nquorum g\n",
		"Log":      "log " + key.Public() + "\nquorum W0\n",
		"OtherLog": "log " + other.Public() + "\nquorum W0\n",
	}
	compare := func(t *testing.T, path string) {
		t.Helper()
		for name, rule := range rules {
			t.Run(name, func(t *testing.T) {
				p, signed := policy(t, witnesses+rule), witnessed(t, path)
				r := ledgertest.Verify(t, path, key, verifier.Options{Witnesses: p, Witnessed: signed})
				v.Compare(t, pyverify.Request{Path: path, Key: key.Public(), WitnessPolicy: witnesses + rule}, r)
				file := export(t, key, path, ledger.Selection{Run: "r1"}, false)
				b, err := bundle.Check(t.Context(), file, bundle.CheckOptions{Key: ledgertest.VerifierOf(key), Witnesses: p})
				if err != nil {
					t.Fatal(err)
				}
				v.Compare(t, pyverify.Request{Path: file, Key: key.Public(), WitnessPolicy: witnesses + rule}, b.Report)
			})
		}
	}
	compare(t, path)
	rules = map[string]string{"Two": rules["Two"], "Missing": rules["Missing"], "One": rules["One"]}
	f.Now = f.Now.Add(10 * time.Second)
	f.Run("p", "r2", 2)
	compare(t, ledgertest.Write(t, dir, key, f, 4))
	f.Now = f.Now.Add(10 * time.Minute)
	f.Run("p", "r3", 2)
	compare(t, ledgertest.Write(t, dir, key, f, 4))
	rules = map[string]string{"One": rules["One"]}
	for name, note := range map[string]string{
		"damaged": strings.Replace(string(witnessed(t, path)), "arrivals 1", "arrivals 2", 1), "nothing": "x",
		"of another ledger": ledgertest.Checked(t, ledgertest.Write(t, t.TempDir(), key, ledgertest.GauntletFeed(), 9), key).Checkpoint.Note,
		"of another key":    ledgertest.Checked(t, ledgertest.Write(t, t.TempDir(), other, f, 9), other).Checkpoint.Note,
	} {
		if err := ledger.WriteWitnessed(path, []byte(note)); err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) { compare(t, path) })
	}
}

func witnessed(t *testing.T, path string) []byte {
	t.Helper()
	signed, err := ledger.ReadWitnessed(path)
	if err != nil {
		t.Fatal(err)
	}
	return ledger.TrimNote(signed)
}

// TestVerifier_Pins compares the anchors that files of pinned keys give, for a data directory
// whose key was changed once, and for a bundle.
func TestVerifier_Pins(t *testing.T) {
	v, data, f := start(t), t.TempDir(), ledgertest.NewFeed("acme")
	old := openKey(t, auditor.KeyDir(data))
	f.Run("p", "r1", 1)
	ledgertest.Write(t, auditor.LedgerDir(data), old, f, 7)
	rotation := writer.Rotation{Dir: auditor.KeyDir(data), Tenants: []string{f.Tenant}, Order: ledger.Order{Time: f.Now, By: "jdoe", Reason: "every year"}}
	if _, err := writer.Rotate(rotation); err != nil {
		t.Fatal(err)
	}
	key, other := openKey(t, auditor.KeyDir(data)), ledgertest.NewKey(t)
	f.Changes(key, 0)
	f.Manifest("auditor/e1")
	path := ledgertest.Continued(t, auditor.LedgerDir(data), key, f, 7)
	file := export(t, key, path, ledger.Selection{}, false)
	own := filepath.Join(auditor.KeyDir(data), ledger.VerifierFile)
	line := func(origin, dir string, key *writer.Key) string {
		return fmt.Sprintf("%s %s %s 2026-11-20T09:14:07Z\n", origin, dir, key.Public())
	}
	here, acme := fmt.Sprintf("%q", data), "hooktrail/acme"
	for name, pins := range map[string]string{
		"None": "", "Comment": "# nothing\n\n", "Own": line("*", here, key), "Old": line("*", here, old), "Other": line("*", here, other),
		"OtherDirectory": line("*", `"/elsewhere"`, other), "OwnElsewhere": line("*", `"/elsewhere"`, key), "AnyDirectory": line("*", "-", key),
		"OriginAnyDirectory": line(acme, "-", old), "OtherOrigin": line("hooktrail/other", "-", other), "OriginOther": line(acme, "-", other),
		"Both": line("*", here, other) + line(acme, "-", key), "NotBinding": line("*", "-", other) + line("*", `"/elsewhere"`, key),
	} {
		t.Run(name, func(t *testing.T) {
			known := filepath.Join(t.TempDir(), "known_ledgers")
			if err := os.WriteFile(known, []byte(pins), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, c := range []struct {
				args []string
				q    pyverify.Request
			}{
				{[]string{"--data-dir", data, "--tenant", "acme"}, pyverify.Request{Path: path, DataDir: data}},
				{[]string{"--data-dir", data, "--tenant", "acme", "--key", own}, pyverify.Request{Path: path, DataDir: data, Key: own}},
				{[]string{"--data-dir", data, "--tenant", "acme", "--key", key.Public()}, pyverify.Request{Path: path, DataDir: data, Key: key.Public()}},
				{[]string{"--ledger", path, "--key", own}, pyverify.Request{Path: path, Key: own}},
				{[]string{"--ledger", path, "--key", old.Public()}, pyverify.Request{Path: path, Key: old.Public()}},
				{[]string{file}, pyverify.Request{Path: file}},
				{[]string{file, "--key", key.Public()}, pyverify.Request{Path: file, Key: key.Public()}},
			} {
				c.q.Known = known
				v.Compare(t, c.q, judge(t, append(c.args, "--known-ledgers", known)))
			}
		})
	}
}

// judge runs auditor verify.
func judge(t *testing.T, args []string) (r verifier.Report) {
	t.Helper()
	var out bytes.Buffer
	cmd := command.Command()
	cmd.SetOut(&out)
	cmd.SetErr(t.Output())
	status := cli.Execute(t.Context(), cmd, append([]string{"verify", "--json"}, args...))
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%v: status %d: %v", args, status, err)
	}
	return r
}
