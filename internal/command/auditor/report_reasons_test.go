package auditor

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/bundle"
	"github.com/hooktrail/hooktrail/internal/evidence/bundle/bundletest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

// reasoned is a line with a verdict that is not good, its reason, a colon, and the remedy.
var reasoned = regexp.MustCompile(`(?m)^Completeness: UNPROVEN +\S.+: \S.+$`)

// Each verdict of a bundle that is not good says why, and how to get a better one.
func TestVerify_EachVerdictHasItsReason(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	p := auditortest.Outbox(t, b, "coder", "acme")
	auditortest.PublishRun(t, p, "r1", 5)
	auditortest.PublishRun(t, p, "r2", 2)
	drain(t, b, dir)
	key := filepath.Join(auditor.KeyDir(dir), "ledger.pub")
	export := func(args ...string) *bundletest.Opened {
		zip := filepath.Join(t.TempDir(), "b.zip")
		if status, out := command(t, append([]string{"export", "--data-dir", dir, "--tenant", "acme", "--out", zip}, args...)...); status != 0 {
			t.Fatalf("export: status %d, %s", status, out)
		}
		return bundletest.Open(t, zip)
	}
	run, all := export("--run", "r1"), export()
	replace := func(name, from, to string) func(*bundletest.Opened) {
		return func(o *bundletest.Opened) { o.Files[name] = strings.Replace(o.Files[name], from, to, 1) }
	}
	for _, tt := range []struct {
		name string
		of   *bundletest.Opened
		do   func(*bundletest.Opened)
		want int
	}{
		{"Record", all, replace("records.jsonl", `{"`, `{ "`), verifier.ExitInvalid},
		{"Leaf", all, replace("leaves.jsonl", "tool.before", "tool.result"), verifier.ExitInvalid},
		{"Checkpoint", run, replace("checkpoint.txt", "acme", "acmf"), verifier.ExitInvalid},
		{"Selection", run, replace("selection.txt", "leaves", "leafs"), verifier.ExitInvalid},
		{"About", run, replace("bundle.json", "acme", "acmf"), verifier.ExitInvalid},
		{"Page", run, replace("index.html", "<h1>", "<h1>!"), verifier.ExitInvalid},
		{"FileMissing", run, func(o *bundletest.Opened) {
			o.Names = slices.DeleteFunc(o.Names, func(name string) bool { return name == "tree.txt" })
		}, verifier.ExitInvalid},
		{"Unsigned", all, (*bundletest.Opened).Unsign, verifier.ExitIncomplete},
		{"UnsignedRun", run, (*bundletest.Opened).Unsign, verifier.ExitIncomplete},
		{"Version1", run, (*bundletest.Opened).Downgrade, verifier.ExitIncomplete},
		{"RunCut", run, func(o *bundletest.Opened) {
			o.Drop(func(l bundletest.Leaf) bool { return l.Kind == "run.finished" || l.Kind == "run.sealed" })
			o.Unsign()
		}, verifier.ExitIncomplete},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := tt.of.Clone(t)
			tt.do(o)
			zip := filepath.Join(t.TempDir(), "b.zip")
			if err := os.WriteFile(zip, o.Pack(), 0o600); err != nil {
				t.Fatal(err)
			}
			status, out := command(t, "verify", "--key", key, zip)
			if status != tt.want || !reasoned.MatchString(out) {
				t.Errorf("status %d, want %d and a reason with a remedy:\n%s", status, tt.want, out)
			}
			_, out = command(t, "verify", "--key", key, "--json", zip)
			var r bundle.Report
			if err := json.Unmarshal([]byte(out), &r); err != nil || len(r.Unproven) == 0 {
				t.Errorf("the JSON has no reason: %v, %s", err, r.Completeness)
			}
		})
	}

	edit(t, dir, "UPDATE leaves SET stored = stored + 1 WHERE leaf = 3")
	if status, out := command(t, "verify", "--data-dir", dir, "--tenant", "acme"); status != verifier.ExitInvalid || strings.Contains(out, "UNPROVEN") && !reasoned.MatchString(out) {
		t.Errorf("an altered ledger: status %d\n%s", status, out)
	}
}
