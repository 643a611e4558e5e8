package bundle

import (
	"path/filepath"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// An event that was lost after its run was sealed is a gap of the run until an order acknowledges
// it. Bundles contain the order.
//
//guarantee:acknowledged
func TestCheck_Acknowledged(t *testing.T) {
	f, keys := newFeed(), filepath.Join(t.TempDir(), "keys")
	f.run("coder/e4", "r1", 2)
	f.run("coder/e4", "r2", 2)
	lost := len(f.messages) - 3
	f.messages = append(f.messages[:lost], f.messages[lost+1:]...)
	whole, one, ranged := ledger.Selection{}, ledger.Selection{Run: "r1"}, ledger.Selection{From: began, Stored: true}
	e := f.writeWith(t, keys)
	found := check(t, e.bundle(t, one), CheckOptions{Key: e.key, AllowAcknowledged: true})
	if found.Exit != verifier.ExitIncomplete || len(found.Matters) != 1 {
		t.Fatalf("exit %d, %+v", found.Exit, found.Matters)
	}
	key, err := writer.OpenKey(keys)
	if err != nil {
		t.Fatal(err)
	}
	o := ledger.Order{
		Tenant: "acme", Action: events.AuditAcknowledge, ID: events.NewID(), Time: f.now, By: "jdoe", Reason: "known",
		Findings: []string{found.Matters[0].ID},
	}
	signed, err := key.Sign(o)
	if err != nil {
		t.Fatal(err)
	}
	f.publish("auditor/e1", "", events.AuditAccessed, "order", events.AuditAccessedData{Action: o.Action, By: o.By, Order: string(signed)})
	f.manifest("auditor/e1")
	for i := range f.messages {
		f.messages[i].Sequence = uint64(i + 1)
	}
	e = f.writeWith(t, keys)
	for name, s := range map[string]ledger.Selection{"Whole": whole, "Run": one, "Range": ranged} {
		for allow, want := range map[bool]int{false: verifier.ExitIncomplete, true: verifier.ExitVerified} {
			r := check(t, e.bundle(t, s), CheckOptions{Key: e.key, AllowAcknowledged: allow})
			known := 0
			for _, m := range r.Matters {
				if m.Acknowledged != nil && m.ID == found.Matters[0].ID {
					known++
				}
			}
			if r.Exit != want || known != 1 {
				t.Errorf("%s, allow %v: exit %d, want %d; %+v", name, allow, r.Exit, want, r.Matters)
			}
		}
	}
	// The order does not count unless the key signed the selection.
	r := check(t, e.export(t, Options{Selection: one, Key: e.public}), CheckOptions{Key: e.key, AllowAcknowledged: true})
	if r.Exit != verifier.ExitIncomplete {
		t.Errorf("not attested: exit %d", r.Exit)
	}
}
