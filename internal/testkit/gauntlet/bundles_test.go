package gauntlet

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/bundle"
	"github.com/hooktrail/hooktrail/internal/evidence/bundle/bundletest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/testkit/pyverify"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// exported are the honest bundles, which attacks copy.
type exported struct {
	key    *key
	runs   []*bundletest.Opened
	all    *bundletest.Opened
	broken *bundletest.Opened // of a ledger with a producer that went silent after a break
	other  *bundletest.Opened // of another tenant
}

// newExported makes bundles of real histories. Each run has two producers, one of which seals it,
// makes a denied call and seals it again. A third one sends a part again.
func newExported(t *testing.T, r *rand.Rand) *exported {
	t.Helper()
	w := newWorld(t)
	a, b, c := w.producer(t, "coder"), w.producer(t, "tester"), w.producer(t, "import")
	for i := range 4 {
		run := fmt.Sprint("run ", i)
		first := send(t, a, tenant, run, events.RunStarted, events.RunStartedData{Title: "gauntlet"})
		sendCalls(t, a, tenant, run, 1+r.IntN(3))
		send(t, a, tenant, run, events.RunFinished, events.RunFinishedData{Success: true})
		flush(t, a)
		sendRun(t, b, tenant, run, 1+r.IntN(3))
		flush(t, b)
		deny(t, a, run)
		send(t, a, tenant, run, events.RunFinished, events.RunFinishedData{Success: true})
		repeat := func(again *events.Event) { again.ID, again.Source, again.Data = first.ID, first.Source, first.Data }
		send(t, c, tenant, run, events.RunStarted, nil, repeat)
		send(t, c, tenant, run, events.RunFinished, events.RunFinishedData{Success: true})
		sendRun(t, c, "other", run, 1+r.IntN(3))
		flush(t, a, c)
	}
	w.drain(t)
	x := &exported{key: w.key(t)}
	for i := range 4 {
		x.runs = append(x.runs, x.export(t, w.ledger(t, tenant), fmt.Sprint("run ", i), verifier.ExitVerified))
	}
	x.all = x.export(t, w.ledger(t, tenant), "", verifier.ExitVerified)
	x.other = x.export(t, w.ledger(t, "other"), "run 0", verifier.ExitVerified)
	sendRun(t, c, "other", "lost", 1)
	flush(t, c)
	if err := w.stream(t).Purge(deadline(t)); err != nil {
		t.Fatal(err)
	}
	sendRun(t, a, tenant, "later", 1)
	flush(t, a)
	w.drain(t)
	x.broken = x.export(t, w.ledger(t, tenant), "", verifier.ExitIncomplete)
	return x
}

func deny(t *testing.T, p *publish.Publisher, run string) {
	t.Helper()
	call := func(e *events.Event) { e.ToolCall = run + "-denied" }
	send(t, p, tenant, run, events.ToolBefore, events.ToolBeforeData{Tool: "Bash", Args: []byte(`{"command":"rm -rf /"}`)}, call)
	send(t, p, tenant, run, events.ToolResult, events.ToolResultData{Tool: "Bash", Status: events.ToolError}, call)
}

func (x *exported) export(t *testing.T, path, run string, want int) *bundletest.Opened {
	t.Helper()
	r, done := reader(t, path)
	defer done()
	file, err := os.Create(filepath.Join(t.TempDir(), "bundle.zip"))
	if err != nil {
		t.Fatal(err)
	}
	err = bundle.WriteBundle(t.Context(), file, r, bundle.Options{Selection: ledger.Selection{Run: run}, Key: x.key.Public(), Signer: x.key.signer})
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	o := bundletest.Open(t, file.Name())
	if got := x.check(t, o.Clone(t), r.Tenant()); got.Exit != want || !got.Attested {
		t.Fatalf("before any attack: %+v", got)
	}
	return o
}

func (x *exported) check(t *testing.T, o *bundletest.Opened, of string) bundle.Report {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bundle.zip")
	if err := os.WriteFile(path, o.Pack(), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := bundle.Check(context.WithoutCancel(t.Context()), path, bundle.CheckOptions{Key: x.key.verifier, Tenant: of})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// bundleAttack changes a bundle with access to nothing else.
type bundleAttack struct {
	name, what string
	of         func(*exported, *rand.Rand) *bundletest.Opened
	change     func(*exported, *bundletest.Opened, *rand.Rand)
	unsigned   string // required verdict without the statement; empty skips this
}

func anyRun(x *exported, r *rand.Rand) *bundletest.Opened     { return pick(r, x.runs) }
func everything(x *exported, _ *rand.Rand) *bundletest.Opened { return x.all }

func denied(o *bundletest.Opened) (leaves []int64) {
	sealed := false
	for _, l := range o.Leaves() {
		if strings.HasPrefix(l.Producer, "coder") {
			sealed = sealed || l.Kind == events.RunSealed
			if sealed && (l.Kind == events.ToolBefore || l.Kind == events.ToolResult) {
				leaves = append(leaves, l.Index)
			}
		}
	}
	return leaves
}

func shifted(n any, by int) int64 {
	number, _ := n.(json.Number)
	i, _ := number.Int64() // from our own bundle
	return i + int64(by)
}

var bundleAttacks = []bundleAttack{ //nolint:gochecknoglobals // a constant
	{
		"BundleDenied", "a denied call taken out of the bundle of a run and listed as seen again", anyRun,
		func(_ *exported, o *bundletest.Opened, r *rand.Rand) {
			at := pick(r, denied(o))
			for _, l := range o.Drop(func(l bundletest.Leaf) bool { return l.Index == at }) {
				o.Repeat(l, l.Run)
			}
		}, "VERIFIED, UNPROVEN (11)",
	},
	{
		"BundleCut", "the bundle of a run that was sealed twice, cut behind the first seal", anyRun,
		func(_ *exported, o *bundletest.Opened, _ *rand.Rand) {
			sealed := false
			o.Drop(func(l bundletest.Leaf) bool {
				mine := l.Class == ledger.ClassEvent && strings.HasPrefix(l.Producer, "coder")
				after := mine && sealed
				sealed = sealed || mine && l.Kind == events.RunSealed
				return after
			})
		}, "VERIFIED, UNPROVEN (11)",
	},
	{
		"BundleProducer", "all records of a producer taken out of the bundle of a run", anyRun,
		func(_ *exported, o *bundletest.Opened, r *rand.Rand) {
			gone := pick(r, []string{"coder", "tester"})
			o.Drop(func(l bundletest.Leaf) bool { return strings.HasPrefix(l.Producer, gone) })
		}, "VERIFIED, UNPROVEN (11)",
	},
	{
		"BundlePlaces", "the times and places in the stream of all records in the bundle of a run changed", anyRun,
		func(_ *exported, o *bundletest.Opened, r *rand.Rand) {
			by := 1 + r.IntN(1000)
			o.Edit("leaves.jsonl", func(line map[string]any) { line["stored"] = "2020-01-01T00:00:00Z" })
			for _, name := range []string{"leaves.jsonl", "again.jsonl"} {
				o.Edit(name, func(line map[string]any) { line["stream"] = shifted(line["stream"], by) })
			}
		}, "VERIFIED, UNPROVEN (11)",
	},
	{
		"BundleSeenAgain", "run and kind changed of what a bundle lists as seen again", everything,
		func(_ *exported, o *bundletest.Opened, r *rand.Rand) {
			lines := o.Lines("again.jsonl")
			at, n := r.IntN(len(lines)), 0
			o.Edit("again.jsonl", func(line map[string]any) {
				if n == at {
					line["run"], line["kind"] = "another", string(events.Custom)
				}
				n++
			})
		}, "VERIFIED, GAPS (11)",
	},
	{
		"BundlePage", "the page of a bundle replaced by one with a script", anyRun,
		func(_ *exported, o *bundletest.Opened, r *rand.Rand) {
			tag := pick(r, []string{"</body>", "<h1>", "</table>", "<head>"})
			o.Files["index.html"] = strings.Replace(o.Files["index.html"], tag, "<script>alert(1)</script>"+tag, 1)
		}, "INVALID (40)",
	},
	{
		"BundleSilent", "the producers that were silent since a break taken out of a bundle of everything",
		func(x *exported, _ *rand.Rand) *bundletest.Opened { return x.broken },
		func(_ *exported, o *bundletest.Opened, _ *rand.Rand) {
			o.EditAbout(func(a map[string]any) { delete(a, "unheard") })
		}, "VERIFIED, UNPROVEN (11)",
	},
	{
		"BundleTenant", "the records of another tenant put into a bundle", anyRun,
		func(x *exported, o *bundletest.Opened, r *rand.Rand) {
			for _, name := range []string{"leaves.jsonl", "records.jsonl", "tree.txt", "index.html", "again.jsonl"} {
				o.Files[name] = x.other.Files[name]
			}
			if r.IntN(2) == 0 {
				o.Files["checkpoint.txt"], o.Files["bundle.json"] = x.other.Files["checkpoint.txt"], x.other.Files["bundle.json"]
			}
		}, "INVALID (40)",
	},
}

// bundles runs each attack on bundles with the statement kept, signed by another key, or removed.
func (g *gauntlet) bundles(t *testing.T) {
	t.Helper()
	x, thief := newExported(t, g.random("bundles")), openKey(t, t.TempDir())
	for _, a := range bundleAttacks {
		for _, repair := range []struct {
			name, what, alone string
			do                func(*bundletest.Opened, *rand.Rand)
		}{
			{"", "", "INVALID (40)", func(*bundletest.Opened, *rand.Rand) {}},
			{"OwnKey", ", signed with a key of their own", "INVALID (40)", func(o *bundletest.Opened, _ *rand.Rand) { o.Resign(thief.signer) }},
			{"Unsigned", ", the signed selection taken out", a.unsigned, unsign},
		} {
			row := attack{name: a.name + repair.name, what: a.what + repair.what, has: "a bundle", alone: repair.alone, kept: repair.alone}
			t.Run(row.name, func(t *testing.T) {
				r, row := g.random(row.name), g.add(row)
				for trial := range trials {
					o := a.of(x, r).Clone(t)
					a.change(x, o, r)
					repair.do(o, r)
					r := x.check(t, o, tenant).Report
					row.compare(t, pyverify.Request{Path: r.Ledger, Key: x.key.Public(), Tenant: tenant}, r)
					row.check(t, trial, r)
				}
			})
		}
	}
}

// unsign removes the statement, or makes a bundle of the version without one.
func unsign(o *bundletest.Opened, r *rand.Rand) {
	if r.IntN(2) == 0 {
		o.Unsign()
		return
	}
	o.Downgrade()
}
