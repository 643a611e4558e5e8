package ledger

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/sumdb/note"
	"pgregory.net/rapid"

	"github.com/hooktrail/hooktrail/pkg/events"
)

func sampleOrder() Order {
	return Order{
		Tenant: "acme", Action: events.AuditErase, ID: "01932d4e-8a2b-7c41-9f0e-5d6c7b8a9f01", Time: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC), By: "jdoe",
		Reason: "subject request\nof 100%", Ticket: "DSR-88", Selection: OrderSelection{Run: "r-42"},
		Size: 100, Leaves: LeafRanges{{3, 17}, {20, 20}, {25, 30}},
	}
}

func TestOrder(t *testing.T) {
	signer, known := signing(t)
	o := sampleOrder()
	signed, err := o.Sign(signer)
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(string(signed), "\n\n")
	want := `hooktrail/order/v1
tenant acme
action erase
id 01932d4e-8a2b-7c41-9f0e-5d6c7b8a9f01
time 2026-11-20T09:00:00.000000000Z
by jdoe
reason subject request%0Aof 100%25
ticket DSR-88
run r-42
tree 100 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=
leaves 3-17 20 25-30`
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	got, err := OpenOrder(signed, known)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(o, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	stranger, unknown := signing(t)
	if _, err := OpenOrder(signed, unknown); err == nil {
		t.Error("an order opened with a key that did not sign it")
	}
	twice, err := note.Sign(&note.Note{Text: text + "\n"}, signer, stranger)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenOrder(twice, known); err == nil {
		t.Error("an order opened that two have signed")
	}
	if _, err := OpenCheckpoint(signed, known); err == nil {
		t.Error("an order is taken for a checkpoint")
	}
}

func TestOrder_Refused(t *testing.T) {
	for name, change := range map[string]func(*Order){
		"NobodyGaveIt":     func(o *Order) { o.By = "" },
		"NoReason":         func(o *Order) { o.Reason = "" },
		"NothingSelected":  func(o *Order) { o.Selection = OrderSelection{Kind: "tool.*"} },
		"Read":             func(o *Order) { o.Action = events.AuditReplay },
		"PruneWithoutTime": func(o *Order) { o.Action = events.AuditPrune },
		"LiftOfNothing":    func(o *Order) { o.Action, o.Selection, o.Leaves = events.AuditLift, OrderSelection{}, nil },
		"KeyOfNothing":     func(o *Order) { o.Action, o.Selection, o.Leaves = events.AuditKey, OrderSelection{}, nil },
		"IssuerOfNothing":  func(o *Order) { o.Action, o.Selection, o.Leaves = events.AuditIssuer, OrderSelection{}, nil },
		"IssuerNotAKey": func(o *Order) {
			o.Action, o.Selection, o.Leaves, o.Issuer = events.AuditRevoke, OrderSelection{}, nil, "UABC"
		},
		"EraseWithIssuer": func(o *Order) { o.Issuer = sampleIssuer },
		"KeyOfItself": func(o *Order) {
			o.Action, o.Selection, o.Leaves, o.Old, o.Key = events.AuditKey, OrderSelection{}, nil, "k", "k"
		},
		"KeyFromNothing":  func(o *Order) { o.Action, o.Selection, o.Leaves, o.Key = events.AuditKey, OrderSelection{}, nil, "k" },
		"EraseWithHold":   func(o *Order) { o.Hold = "h" },
		"LeafOutsideTree": func(o *Order) { o.Leaves = LeafRanges{{3, 100}} },
		"RangesTouch":     func(o *Order) { o.Leaves = LeafRanges{{3, 4}, {5, 6}} },
		"RangesBackwards": func(o *Order) { o.Leaves = LeafRanges{{9, 9}, {5, 6}} },
		"NotUTF8":         func(o *Order) { o.By = "\xff" },
		"NoPattern":       func(o *Order) { o.Selection.Kind = "[" },
	} {
		t.Run(name, func(t *testing.T) {
			o := sampleOrder()
			change(&o)
			signer, _ := signing(t)
			if _, err := o.Sign(signer); err == nil {
				t.Error("it was signed")
			}
		})
	}
}

const sampleIssuer = "UA5WUJ54Z23KILLCUOUNAKTPBVZWKMQVO4O6EQ5GHLAERIMLLHNCTYM5"

func FuzzParseOrder(f *testing.F) {
	text, err := sampleOrder().Text()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(strings.Replace(text, "leaves 3-17", "leaves 3-17 18", 1))
	f.Add("hooktrail/order/v1\ntenant a\naction lift\nid x\ntime 2026-11-20T09:00:00.000000000Z\nby a\nreason b\nhold y\n" +
		"tree 0 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n")
	f.Add("hooktrail/order/v1\ntenant a\naction key\nid x\ntime 2026-11-20T09:00:00.000000000Z\nby a\nreason b\nold y\nkey z\n" +
		"tree 0 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n")
	const rule = "hooktrail/order/v1\ntenant a\naction %s\nid x\ntime 2026-11-20T09:00:00.000000000Z\nby a\nreason b\n%s" +
		"tree 0 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"
	f.Add(fmt.Sprintf(rule, "floor", "floor 0\n"))
	f.Add(fmt.Sprintf(rule, "floor", "floor 15552000\n"))
	f.Add(fmt.Sprintf(rule, "approvers", ""))
	f.Add(fmt.Sprintf(rule, "approvers", "approvers amy+00000000+AQ==\nfor erase lift\nwithin 3600\n"))
	f.Add("hooktrail/order/v1\ntenant a\naction issuer\nid x\ntime 2026-11-20T09:00:00.000000000Z\nby a\nreason b\n" +
		"issuer " + sampleIssuer + "\ntree 0 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n")
	f.Add("hooktrail/order/v1\ntenant a\naction acknowledge\nid x\ntime 2026-11-20T09:00:00.000000000Z\nby a\nreason b\nfindings " +
		strings.Repeat("0a", 32) + " " + strings.Repeat("1b", 32) + "\ntree 0 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n")
	f.Fuzz(func(t *testing.T, text string) {
		o, err := ParseOrder(text)
		if err != nil {
			return
		}
		if again, err := o.Text(); err != nil || again != text {
			t.Errorf("the text came out another one: %q, %v", again, err)
		}
	})
}

func TestLeafRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.SliceOfN(rapid.Bool(), 1, 64).Draw(t, "in")
		other := rapid.SliceOfN(rapid.Bool(), len(in), len(in)).Draw(t, "other")
		var r, o LeafRanges
		n := int64(0)
		for i := range in {
			if in[i] {
				r.Add(int64(i))
				n++
			}
			if other[i] {
				o.Add(int64(i))
			}
		}
		for i := range in {
			if r.Has(int64(i)) != in[i] {
				t.Fatalf("%v has %d: %v", r, i, !in[i])
			}
		}
		for _, s := range o {
			if all := !slices.Contains(in[s.First:s.Last+1], false); r.HasAll(s) != all {
				t.Fatalf("%v has all of %v: %v", r, s, !all)
			}
		}
		if r.Count() != n || !r.valid(int64(len(in))) {
			t.Fatalf("%v: count %d of %d", r, r.Count(), n)
		}
		if again, err := parseRanges(r.String()); n > 0 && (err != nil || cmp.Diff(r, again) != "") {
			t.Fatalf("%v came back as %v, %v", r, again, err)
		}
	})
}
