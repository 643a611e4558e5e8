package verifier_test

import (
	"slices"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// ghosts returns a feed with each kind of finding that can be acknowledged.
func ghosts() *ledgertest.Feed {
	f := ledgertest.NewFeed("acme")
	f.Sign("p")
	f.Run("p", "r1", 1)
	f.Skip("p", 2, "shed")
	f.Event("p", "r2", events.RunStarted, events.RunStartedData{Title: "never ends"})
	f.Manifest("p")
	f.Event("ghost", "", events.Custom, events.CustomData{Name: "no manifest"})
	forged := f.Messages[0]
	e, err := events.Decode(forged.Data)
	if err != nil {
		panic(err)
	}
	e.Agent = "somebody else"
	f.Add(forged.Address, e.Encode())
	e.Agent = "on another subject"
	a := forged.Address
	a.Producer = "q"
	f.Add(a, e.Encode())
	reuse(f, "q")
	f.Now = f.Now.Add(2 * time.Hour)
	return f
}

// reuse adds an event that has the id of the first one and other content.
func reuse(f *ledgertest.Feed, producer string) {
	first, err := events.Decode(f.Messages[0].Data)
	if err != nil {
		panic(err)
	}
	e, err := events.New(events.Custom, "/another", events.CustomData{Name: producer})
	if err != nil {
		panic(err)
	}
	e.ID = first.ID
	f.Publish(producer, e)
	f.Manifest(producer)
}

func acknowledge(t *testing.T, f *ledgertest.Feed, key *writer.Key, findings ...string) {
	t.Helper()
	o := ledger.Order{
		Tenant: f.Tenant, Action: events.AuditAcknowledge, ID: events.NewID(), Time: f.Now, By: "jdoe", Reason: "known", Findings: findings,
	}
	signed, err := key.Sign(o)
	if err != nil {
		t.Fatal(err)
	}
	f.Event("auditor", "", events.AuditAccessed, events.AuditAccessedData{Action: o.Action, By: o.By, Order: string(signed)})
	f.Manifest("auditor")
}

func verifyFeed(t *testing.T, f *ledgertest.Feed, key *writer.Key, allow bool) verifier.Report {
	t.Helper()
	path := ledgertest.Write(t, t.TempDir(), key, f, 40)
	return ledgertest.Verify(t, path, key, verifier.Options{AllowAcknowledged: allow})
}

func idsOf(r verifier.Report, kinds ...verifier.MatterKind) (ids []string) {
	for _, m := range r.Matters {
		if len(kinds) == 0 || slices.Contains(kinds, m.Kind) {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

//guarantee:acknowledged
func TestVerify_Acknowledged(t *testing.T) {
	key, f := ledgertest.NewKey(t), ghosts()
	before := verifyFeed(t, f, key, true)
	var kinds []verifier.MatterKind
	for _, m := range before.Matters {
		kinds = append(kinds, m.Kind)
	}
	want := []verifier.MatterKind{
		verifier.MatterGap, verifier.MatterUnsealed, verifier.MatterUnproven, verifier.MatterForeign, verifier.MatterMisaddressed,
		verifier.MatterIDReused,
	}
	if !slices.Equal(kinds, want) || before.Exit != verifier.ExitContradicts {
		t.Fatalf("got %v, exit %d, want %v, %d\n%+v", kinds, before.Exit, want, verifier.ExitContradicts, before.Matters)
	}
	for _, kind := range want {
		acknowledge(t, f, key, idsOf(before, kind)...)
	}
	for allow, exit := range map[bool]int{false: verifier.ExitContradicts, true: verifier.ExitVerified} {
		r := verifyFeed(t, f, key, allow)
		if r.Exit != exit || r.AcknowledgedCount != 6 || r.UnacknowledgedCount != 0 || r.Completeness != verifier.Gaps {
			t.Errorf("allow %v: exit %d, want %d; %s, %d known, %+v", allow, r.Exit, exit, r.Completeness, r.AcknowledgedCount, r.Matters)
		}
		if a := r.Matters[0].Acknowledged; a == nil || a.By != "jdoe" || a.Reason != "known" {
			t.Errorf("got %+v", a)
		}
	}
}

// Each later loss, foreign record or event of a run is a new finding.
func TestVerify_AcknowledgedGrows(t *testing.T) {
	for name, grow := range map[string]func(f *ledgertest.Feed){
		"Gap": func(f *ledgertest.Feed) {
			f.Skip("p", 1, "shed")
			f.Event("p", "", events.Custom, events.CustomData{Name: "x"})
			f.Manifest("p")
		},
		"Run": func(f *ledgertest.Feed) {
			f.Event("p", "r2", events.ToolBefore, events.ToolBeforeData{Tool: "Bash"})
			f.Manifest("p")
			f.Now = f.Now.Add(2 * time.Hour)
		},
		"Producer": func(f *ledgertest.Feed) {
			f.Event("ghost", "", events.Custom, events.CustomData{Name: "y"})
			f.Now = f.Now.Add(2 * time.Hour)
		},
		"Foreign": func(f *ledgertest.Feed) {
			e, err := events.Decode(f.Messages[1].Data)
			if err != nil {
				t.Fatal(err)
			}
			e.Agent = "another one"
			f.Add(f.Messages[1].Address, e.Encode())
		},
		"Misaddressed": func(f *ledgertest.Feed) {
			f.Add(subjects.Address{Tenant: "acme", Producer: "z", Kind: events.Custom}, f.Messages[1].Data)
		},
		"IDReused": func(f *ledgertest.Feed) { reuse(f, "r") },
		"DeniedResult": func(f *ledgertest.Feed) {
			f.Event("p", "r3", events.ToolBefore, events.ToolBeforeData{Tool: "Bash", Outcome: events.Outcome{Verdict: events.VerdictDeny}})
			f.Event("p", "r3", events.ToolResult, events.ToolResultData{Tool: "Bash", Status: events.ToolSuccess})
			f.Seal("p", "r3")
			f.Manifest("p")
		},
	} {
		t.Run(name, func(t *testing.T) {
			key, f := ledgertest.NewKey(t), ghosts()
			acknowledge(t, f, key, idsOf(verifyFeed(t, f, key, true))...)
			grow(f)
			r := verifyFeed(t, f, key, true)
			if r.Exit == verifier.ExitVerified || name != "DeniedResult" && r.UnacknowledgedCount != 1 {
				t.Errorf("exit %d, %d new: %+v", r.Exit, r.UnacknowledgedCount, r.Matters)
			}
		})
	}
}

// The loss of the outbox is a new finding.
//
//guarantee:acknowledged
func TestVerify_AcknowledgedSilenceIsNotALoss(t *testing.T) {
	key, f := ledgertest.NewKey(t), opened()
	wait(f, time.Hour)
	acknowledge(t, f, key, idsOf(verifyFeed(t, f, key, true))...)
	if r := verifyFeed(t, f, key, true); r.Exit != verifier.ExitVerified || len(r.Matters) != 1 || r.Matters[0].Reason != "silent" {
		t.Fatalf("silent and acknowledged: got exit status %d, findings %+v", r.Exit, r.Matters)
	}
	f.Lose("auditor", "p")
	if r := verifyFeed(t, f, key, true); r.Exit != verifier.ExitIncomplete || r.UnacknowledgedCount != 1 || r.Matters[0].Reason != "its outbox is lost" {
		t.Errorf("lost: got exit status %d, findings %+v", r.Exit, r.Matters)
	}
}

// The facts of a run without a seal do not depend on the order of arrival.
func TestVerify_AcknowledgedRunOutOfOrder(t *testing.T) {
	key, ids := ledgertest.NewKey(t), make(map[string]bool)
	for _, swapped := range []bool{false, true} {
		f := ledgertest.NewFeed("acme")
		for range 3 {
			f.Event("p", "r", events.RunStarted, events.RunStartedData{})
		}
		f.Manifest("p")
		f.Now = f.Now.Add(2 * time.Hour)
		f.Run("q", "later", 1)
		if swapped {
			f.Messages[1].Data, f.Messages[2].Data = f.Messages[2].Data, f.Messages[1].Data
		}
		for _, id := range idsOf(verifyFeed(t, f, key, false), verifier.MatterUnsealed) {
			ids[id] = true
		}
	}
	if len(ids) != 1 {
		t.Errorf("got %d ids, want 1", len(ids))
	}
}

func TestVerify_AcknowledgedByOthers(t *testing.T) {
	key, other := ledgertest.NewKey(t), ledgertest.NewKey(t)
	f := ghosts()
	ids := idsOf(verifyFeed(t, f, key, true))
	acknowledge(t, f, other, ids...)
	if r := verifyFeed(t, f, key, true); r.AcknowledgedCount != 0 || r.Exit != verifier.ExitContradicts {
		t.Errorf("with another key: %d known, exit %d", r.AcknowledgedCount, r.Exit)
	}
	f = ghosts()
	f.Tenant = "other"
	acknowledge(t, f, key, ids...)
	signed := f.Messages[len(f.Messages)-2]
	f = ghosts()
	e, err := events.Decode(signed.Data)
	if err != nil {
		t.Fatal(err)
	}
	f.Publish("auditor", e)
	f.Manifest("auditor")
	if r := verifyFeed(t, f, key, true); r.AcknowledgedCount != 0 {
		t.Errorf("with the order of another tenant: %d known", r.AcknowledgedCount)
	}
}
