package gauntlet

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	command "github.com/hooktrail/hooktrail/internal/command/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/bundle"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/testkit/pyverify"
)

func judge(t *testing.T, known string, args ...string) (status int, r verifier.Report) {
	t.Helper()
	var out bytes.Buffer
	cmd := command.Command()
	cmd.SetOut(&out)
	cmd.SetErr(t.Output())
	status = cli.Execute(deadline(t), cmd, append(args, "--known-ledgers", known, "--json"))
	if err := json.Unmarshal(out.Bytes(), &r); err != nil && status >= verifier.ExitUnwitnessed {
		t.Fatalf("%v: status %d: %v", args, status, err)
	}
	return status, r
}

type trial struct {
	name, known string
	args        []string
	want        int
	anchor      verifier.AnchorState
	asked       *pyverify.Request // request to the second verifier, or nil
}

func (a *attack) try(t *testing.T, number int, cases []trial) {
	t.Helper()
	a.tried++
	for _, c := range cases {
		status, r := judge(t, c.known, append([]string{"verify"}, c.args...)...)
		if status != c.want || r.Anchor == nil || r.Anchor.State != c.anchor {
			t.Errorf("trial %d: %s: got status %d, %+v, want %d, %s; problems %q", number, c.name, status, r.Anchor, c.want, c.anchor, r.Problems)
			return
		}
		if q := c.asked; q != nil {
			q.Known, q.Tenant = c.known, tenant
			a.compare(t, *q, r)
		}
	}
	a.found++
}

func (g *gauntlet) anchors(t *testing.T, v *victim) {
	t.Helper()
	own := t.TempDir() // the attacker's directory, for which a user has pinned the victim's key
	thief := openKey(t, auditor.KeyDir(own))
	pinned, exact, none := filepath.Join(t.TempDir(), "pins"), filepath.Join(t.TempDir(), "pins"), filepath.Join(t.TempDir(), "pins")
	kept := filepath.Join(t.TempDir(), "checkpoint")
	if err := os.WriteFile(kept, append(slices.Clip(v.kept), '\n'), 0o600); err != nil { // as jq -r writes it
		t.Fatal(err)
	}
	for known, args := range map[string][]string{pinned: {"--data-dir", own}, exact: {"--tenant", tenant}} {
		if status, _ := judge(t, known, append([]string{"key", "pin", "--key", v.key.Public()}, args...)...); status != 0 {
			t.Fatalf("pin: status %d", status)
		}
	}
	at := []string{"--data-dir", own, "--tenant", tenant}
	with := func(args ...string) []string { return append(slices.Clone(at), args...) }
	g.anchor(t, v, thief, attack{
		name: "OwnKeyEverywhere", has: "the data directory", alone: "VERIFIED, anchor DIVERGED (30)", kept: "diverged (30)",
		what: "all ledgers rewritten with a key of their own, and keys/ledger.pub overwritten", seen: "both keys; anchor NONE (21) for who has not pinned the key",
	}, own, func(path string) []trial {
		asked := pyverify.Request{Path: path, DataDir: own}
		trusted, file, key := asked, asked, asked
		trusted.Trusted, file.CheckpointFile, key.Key = kept, kept, v.key.Public()
		return []trial{
			{"pinned", pinned, at, verifier.ExitDiverged, verifier.AnchorDiverged, &asked},
			{"not pinned", none, at, verifier.ExitUnanchored, verifier.AnchorNone, &asked},
			{"kept", none, with("--trusted", kept), verifier.ExitDiverged, verifier.AnchorNone, &trusted},
			{"file", none, with("--checkpoint-file", kept), verifier.ExitDiverged, verifier.AnchorNone, &file},
			{"right key", none, with("--key", v.key.Public()), verifier.ExitInvalid, verifier.AnchorGiven, &key},
		}
	})
	g.anchor(t, v, thief, attack{
		name: "OwnKeyBundle", has: "a bundle", alone: "VERIFIED, anchor NONE (21)", kept: "diverged (30)",
		what: "a bundle signed with a key of their own", seen: "the key; anchor DIVERGED (30) for who has pinned one for the tenant",
	}, own, func(path string) []trial {
		file := bundleOf(t, path, thief)
		asked := pyverify.Request{Path: file}
		trusted, key := asked, asked
		trusted.Trusted, key.Key = kept, v.key.Public()
		return []trial{
			{"pinned", pinned, with(file), verifier.ExitUnanchored, verifier.AnchorNone, &asked},
			{"not pinned", none, with(file), verifier.ExitUnanchored, verifier.AnchorNone, &asked},
			{"pinned for the tenant", exact, with(file), verifier.ExitDiverged, verifier.AnchorDiverged, &asked},
			{"kept", none, with(file, "--trusted", kept), verifier.ExitDiverged, verifier.AnchorNone, &trusted},
			{"right key", none, with(file, "--key", v.key.Public()), verifier.ExitInvalid, verifier.AnchorGiven, &key},
		}
	})
}

// anchor writes the ledgers of a data directory again, with a random change and a thief's key.
func (g *gauntlet) anchor(t *testing.T, v *victim, thief *key, a attack, dir string, cases func(path string) []trial) {
	t.Helper()
	t.Run(a.name, func(t *testing.T) {
		r, row := g.random(a.name), g.add(a)
		for number := range trials {
			if err := os.RemoveAll(auditor.LedgerDir(dir)); err != nil {
				t.Fatal(err)
			}
			change := pick(r, []historyChange{editEvent, omitEvent, invent, confuse})
			messages := rewrite(t, change(t, r, slices.Clone(v.messages)))
			row.try(t, number, cases(v.write(t, auditor.LedgerDir(dir), thief, messages)))
		}
	})
}

func bundleOf(t *testing.T, path string, k *key) string {
	t.Helper()
	r, done := reader(t, path)
	defer done()
	var out bytes.Buffer
	if err := bundle.WriteBundle(t.Context(), &out, r, bundle.Options{Key: k.Public()}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "bundle.zip")
	if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
