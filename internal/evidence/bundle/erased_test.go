package bundle

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const spoken = "what nobody may read again"

// erased returns a ledger of two runs, one of them erased, and the leaf of the order.
func erased(tb testing.TB) (e evidence, order int64) {
	tb.Helper()
	f := newFeed()
	f.run("coder/e4", "r-1", 5, spoken)
	f.run("coder/e4", "r-2", 5)
	order = int64(len(f.messages))
	return f.order(tb, ledger.Order{Action: events.AuditErase, ID: "order-1", Selection: ledger.OrderSelection{Run: "r-1"}}), order
}

func (f *feed) order(tb testing.TB, orders ...ledger.Order) evidence {
	tb.Helper()
	return f.orderly(tb, orders...).evidence
}

type orderly struct {
	evidence

	feed   *feed
	signer *writer.Key
	ledger *writer.Ledger
}

func (f *feed) orderly(tb testing.TB, orders ...ledger.Order) orderly {
	tb.Helper()
	key, err := writer.OpenKey(filepath.Join(tb.TempDir(), "keys"))
	if err != nil {
		tb.Fatal(err)
	}
	dir := tb.TempDir()
	l, err := writer.Open(tb.Context(), dir, "acme", writer.Options{Key: key, Now: func() time.Time { return f.now.Add(time.Second) }})
	if err != nil {
		tb.Fatal(err)
	}
	o := orderly{feed: f, signer: key, ledger: l}
	o.append(tb)
	if o.reader, err = ledger.OpenTenant(dir, "acme"); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := errors.Join(o.reader.Close(), l.Close()); err != nil {
			tb.Error(err)
		}
	})
	if o.key, _, err = ledger.ParseVerifier(key.Public()); err != nil {
		tb.Fatal(err)
	}
	if o.path, err = ledger.Path(dir, "acme"); err != nil {
		tb.Fatal(err)
	}
	o.public, o.evidence.signer = key.Public(), key.Signer()
	for _, one := range orders {
		o.give(tb, one)
	}
	return o
}

func (o orderly) append(tb testing.TB) {
	tb.Helper()
	stream := ledger.Stream{Epoch: 1, Created: began.Add(-time.Hour)}
	if _, err := o.ledger.Append(tb.Context(), stream, o.feed.messages); err != nil {
		tb.Fatal(err)
	}
}

func (o orderly) give(tb testing.TB, order ledger.Order) {
	tb.Helper()
	order.Time, order.By, order.Reason = o.feed.now, "jdoe", "subject request"
	order, err := o.reader.Orders().Resolve(tb.Context(), order)
	if err != nil {
		tb.Fatal(err)
	}
	signed, err := o.signer.Sign(order)
	if err != nil {
		tb.Fatal(err)
	}
	o.feed.publish("auditor/a1", "", events.AuditAccessed, "", events.AuditAccessedData{Action: order.Action, Order: string(signed)})
	o.feed.manifest("auditor/a1")
	o.append(tb)
}

// An export fails if a record is erased before its last pass. The next bundle has the record as
// erased.
//
//guarantee:erased-exports
func TestErased_Meanwhile(t *testing.T) {
	for pass := 1; pass < passes; pass++ { // pass 0 needs a signer
		f := newFeed()
		f.run("coder/e4", "r-1", 5, spoken)
		f.run("coder/e4", "r-2", 5)
		o := f.orderly(t)
		at := int64(pass * len(f.messages)) // after the first record of the pass
		err := WriteBundle(t.Context(), io.Discard, o.reader, Options{Key: o.public, Progress: func(done, _ int64) {
			if done == at+1 {
				o.give(t, ledger.Order{Action: events.AuditErase, ID: "order-1", Selection: ledger.OrderSelection{Run: "r-1"}})
			}
		}})
		if pass < passes-1 && !errors.Is(err, ErrErasedMeanwhile) {
			t.Errorf("erased in pass %d: got %v", pass, err)
		}
		if path := o.bundle(t, ledger.Selection{}); check(t, path, CheckOptions{Key: o.key}).Redacted.Erased != 7 {
			t.Errorf("the next one, after pass %d, does not have what was erased as erased", pass)
		}
	}
}

// A bundle of everything reports the legal holds of the ledger. A partial bundle does not claim
// that there are none.
//
//guarantee:erased-exports
func TestErased_Holds(t *testing.T) {
	f := newFeed()
	f.run("coder/e4", "r-1", 5, spoken)
	f.run("coder/e4", "r-2", 5)
	hold := func(id, run string) ledger.Order {
		return ledger.Order{Action: events.AuditHold, ID: id, Selection: ledger.OrderSelection{Run: run}}
	}
	e := f.order(t, hold("hold-1", "r-2"), hold("hold-2", "r-1"),
		ledger.Order{Action: events.AuditLift, ID: "lift-1", Hold: "hold-2"},
		ledger.Order{Action: events.AuditLift, ID: "lift-2", Hold: "hold-2"},
		ledger.Order{Action: events.AuditErase, ID: "order-1", Selection: ledger.OrderSelection{Run: "r-1"}})
	want, err := verifier.Verify(t.Context(), e.path, verifier.Options{Key: e.key})
	if err != nil {
		t.Fatal(err)
	}
	if want.Redacted.Holds != 1 || want.Redacted.Erased != 7 {
		t.Fatalf("the ledger says %+v", want.Redacted)
	}
	got := check(t, e.bundle(t, ledger.Selection{}), CheckOptions{Key: e.key})
	if diff := cmp.Diff(want.Redacted, got.Redacted); diff != "" {
		t.Errorf("redacted (-ledger +bundle):\n%s", diff)
	}
	for name, s := range map[string]ledger.Selection{"Run": {Run: "r-2"}, "Range": {From: began}} {
		if r := check(t, e.bundle(t, s), CheckOptions{Key: e.key}); !r.Redacted.Part || r.Redacted.Holds != 0 {
			t.Errorf("%s: %+v", name, r.Redacted)
		}
	}
}

//guarantee:erased-exports
func TestErased_Bundle(t *testing.T) {
	e, order := erased(t)
	for name, s := range map[string]ledger.Selection{
		"Everything": {}, "Run": {Run: "r-1"}, "Range": {From: began, To: began.Add(8 * time.Second)},
	} {
		t.Run(name, func(t *testing.T) {
			path := e.bundle(t, s)
			r := check(t, path, CheckOptions{Key: e.key, Tenant: "acme"})
			if r.Integrity != verifier.Verified || name != "Range" && r.Completeness != verifier.Complete {
				t.Errorf("%s, %s: %v, %v", r.Integrity, r.Completeness, r.Problems, r.Gaps)
			}
			if r.Redacted.Erased != 7 || len(r.Redacted.Orders) != 1 || r.Redacted.Orders[0].Leaf != order {
				t.Errorf("redacted: %+v, want 7 erased by leaf %d", r.Redacted, order)
			}
			b := open(t, path)
			for file, content := range b.files {
				if strings.Contains(content, spoken) {
					t.Errorf("%s has what was erased", file)
				}
			}
			if !strings.Contains(b.files[pageFile], "erased by the order at leaf") {
				t.Error("the page does not say that records were erased")
			}
		})
	}
	if r := check(t, e.bundle(t, ledger.Selection{Run: "r-2"}), CheckOptions{Key: e.key}); r.Leaves != 9 || r.Redacted.Erased != 0 {
		t.Errorf("the bundle of another run has %d leaves, %d erased", r.Leaves, r.Redacted.Erased)
	}
}

// A removal that looks like an erasure is detected.
//
//guarantee:order-forged
func TestErased_Tampered(t *testing.T) {
	e, order := erased(t)
	path := e.bundle(t, ledger.Selection{})
	edit := func(file string, line int, change func(string) string) func(opened) {
		return func(o opened) {
			lines := strings.Split(o.files[file], "\n")
			lines[line] = change(lines[line])
			o.files[file] = strings.Join(lines, "\n")
		}
	}
	null := func(string) string { return noRecord }
	said := func(line string) string { return strings.TrimSuffix(line, "}") + `,"removed":"erased","order":18}` }
	for name, changes := range map[string][]func(opened){
		"a record gone":                           {edit(recordsFile, 11, null)},
		"a record gone in the name of the order":  {edit(recordsFile, 11, null), edit(leavesFile, 11, said)},
		"a seal gone in the name of the order":    {edit(recordsFile, 7, null), edit(leavesFile, 7, said)},
		"said to be erased, and there":            {edit(leavesFile, 11, said)},
		"the order gone":                          {edit(recordsFile, int(order), null)},
		"erased becomes pruned":                   {edit(leavesFile, 2, func(l string) string { return strings.Replace(l, `"erased"`, `"pruned"`, 1) })},
		"erased becomes nothing":                  {edit(leavesFile, 2, func(l string) string { return strings.Replace(l, `,"removed":"erased","order":18`, "", 1) })},
		"another leaf is said to bring the order": {edit(leavesFile, 2, func(l string) string { return strings.Replace(l, `"order":18`, `"order":17`, 1) })},
	} {
		o := open(t, path)
		for _, c := range changes {
			c(o)
		}
		if r := check(t, o.close(t), CheckOptions{Key: e.key}); r.Integrity != verifier.Invalid {
			t.Errorf("%s: %s, want %s", name, r.Integrity, verifier.Invalid)
		}
	}
}

//guarantee:erased-exports
func TestErased_Tables(t *testing.T) {
	e, _ := erased(t)
	for format, want := range map[Format]string{
		JSONL: `"run":"r-1","time":"2026-11-20T09:00:0`, CSV: ",,erased,18\n", Parquet: "erased",
	} {
		var out bytes.Buffer
		if err := WriteTable(t.Context(), &out, e.reader, format, Options{}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), want) || format != Parquet && strings.Count(out.String(), want) != 7 {
			t.Errorf("%s has %d times %q, want 7", format, strings.Count(out.String(), want), want)
		}
		if strings.Contains(out.String(), spoken) {
			t.Errorf("%s has what was erased", format)
		}
	}
}
