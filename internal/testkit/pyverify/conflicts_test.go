package pyverify_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/bundle"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/internal/testkit/pyverify"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// An order about an issuer under a number that another event has is a conflict. It trusts no
// issuer, and it contradicts the other event, in the ledger and in each bundle.
//
//guarantee:second-verifier
func TestVerifier_IssuerOrderInConflict(t *testing.T) {
	v, f, key := start(t), ledgertest.NewFeed("acme"), ledgertest.NewKey(t)
	f.Event("auditor/e1", "", events.AuditAccessed, events.AuditAccessedData{Action: events.AuditExport, By: "jdoe"})
	first, err := events.Decode(f.Messages[len(f.Messages)-1].Data)
	if err != nil {
		t.Fatal(err)
	}
	f.Order(t, key, ledger.Order{Action: events.AuditIssuer, Issuer: ledgertest.PublicKey("thief")})
	last := len(f.Messages) - 1
	order, err := events.Decode(f.Messages[last].Data)
	if err != nil {
		t.Fatal(err)
	}
	order.Sequence = first.Sequence
	f.Messages[last].Data = order.Encode()
	f.Enrol("ghost", "thief")
	f.Run("ghost", "r1", 1)
	path := ledgertest.Write(t, t.TempDir(), key, f, 1000)
	r := ledgertest.Verify(t, path, key, verifier.Options{Tenant: "acme"})
	if r.Exit != verifier.ExitContradicts || r.Enrolled != 0 {
		t.Errorf("ledger: exit %d, %d producers enrolled", r.Exit, r.Enrolled)
	}
	v.Compare(t, pyverify.Request{Path: path, Key: key.Public(), Tenant: "acme"}, r)
	for _, s := range []ledger.Selection{{}, {Run: "r1"}, {From: ledgertest.Began, Stored: true}, {To: ledgertest.Began.Add(time.Hour)}} {
		file := export(t, key, path, s, false)
		b, err := bundle.Check(t.Context(), file, bundle.CheckOptions{Key: ledgertest.VerifierOf(key)})
		if err != nil {
			t.Fatal(err)
		}
		if b.Enrolled != 0 || s.Run == "" && b.Exit != verifier.ExitContradicts {
			t.Errorf("bundle %+v: exit %d, %d producers enrolled", s, b.Exit, b.Enrolled)
		}
		v.Compare(t, pyverify.Request{Path: file, Key: key.Public()}, b.Report)
	}
}

// The auditor's order counts in a bundle whatever the escapes and white space of its event.
func TestVerifier_OrderInOtherForm(t *testing.T) {
	v, f, key := start(t), ledgertest.NewFeed("acme"), ledgertest.NewKey(t)
	f.Order(t, key, ledger.Order{Action: events.AuditIssuer, Issuer: ledgertest.PublicKey("owner")})
	last := len(f.Messages) - 1
	text := strings.ReplaceAll(string(f.Messages[last].Data), `\n`, `\u000a`)
	text = strings.Replace(text, ",", ",\n", 1)
	f.Messages = f.Messages[:last]
	f.Add(subjects.Address{Tenant: "acme", Producer: "auditor/e1", Kind: events.AuditAccessed}, []byte(text))
	f.Source("auditor/e1").Pending[0] = events.HashOf([]byte(text))
	f.Manifest("auditor/e1")
	f.Enrol("coder", "owner")
	f.Run("coder", "r1", 1)
	path := ledgertest.Write(t, t.TempDir(), key, f, 1000)
	r := ledgertest.Verify(t, path, key, verifier.Options{Tenant: "acme"})
	v.Compare(t, pyverify.Request{Path: path, Key: key.Public(), Tenant: "acme"}, r)
	file := export(t, key, path, ledger.Selection{Run: "r1"}, false)
	b, err := bundle.Check(t.Context(), file, bundle.CheckOptions{Key: ledgertest.VerifierOf(key)})
	if err != nil {
		t.Fatal(err)
	}
	if r.Enrolled != 1 || b.Enrolled != 1 || b.Exit != 0 {
		t.Errorf("enrolled %d in the ledger, %d in the bundle with exit %d: %q", r.Enrolled, b.Enrolled, b.Exit, b.Problems)
	}
	v.Compare(t, pyverify.Request{Path: file, Key: key.Public()}, b.Report)
}

// However many outboxes are lost, each is named, and each can be acknowledged.
//
//guarantee:producer-lost
func TestVerifier_ManyLosses(t *testing.T) {
	v, f, key := start(t), ledgertest.NewFeed("acme"), ledgertest.NewKey(t)
	const losses = 150
	for n := range losses {
		f.Lose("p", fmt.Sprint("lost-", n))
	}
	f.Run("lost-0", "r1", 1)
	f.LoseKey("p", "lost-0", ledgertest.PublicKey("stranger"))
	f.Manifest("p")
	path := ledgertest.Write(t, t.TempDir(), key, f, 1000)
	r := ledgertest.Verify(t, path, key, verifier.Options{Tenant: "acme"})
	lost := 0
	for _, p := range r.Producers {
		if p.Lost != nil {
			lost++
		}
	}
	if lost != losses || r.UnacknowledgedCount < losses || r.Exit != verifier.ExitIncomplete {
		t.Errorf("%d of %d losses, %d findings, exit %d", lost, losses, r.UnacknowledgedCount, r.Exit)
	}
	v.Compare(t, pyverify.Request{Path: path, Key: key.Public(), Tenant: "acme"}, r)
}

// Both verifiers agree whether two records under one id are of one hook payload.
func TestVerifier_FormsOfRecordings(t *testing.T) {
	v, key := start(t), ledgertest.NewKey(t)
	first := `{"tool":"Bash","args":{"a":1,"b":"<\u00e9"},"verdict":"allow","executions":[{"hook":"x","verdict":"allow"}]}`
	for second, isSame := range map[string]bool{
		`{"tool":"Bash","args":{"a":1,"b":"<é"},"verdict":"allow"}`:                                                     true,
		`{"tool":"B\u0061sh","args":{"a":1,"b":"\u003cé"},"verdict":"allow","executions":null}`:                         true,
		`{"tool":"Bash","args":{"a":1,"b":"<é"},"verdict":"allow","executions":[{"verdict":"none","success":5}]}`:       true,
		`{"tool":"Bash","args":{"a":1,"b":"<é"},"verdict":"allow","executions":[{"verdict":"allow","Verdict":"deny"}]}`: false,
		`{"tool":"Bash","args":{"a":1,"b":"<é"},"verdict":"allow","executions":5}`:                                      false,
		`{"tool":"Bash","args":{"a":1,"b":"<é"},"verdict":"allow","executions":{}}`:                                     false,
		`{"tool":"Bash","args":{"a":1,"b":"<é"},"verdict":"allow","executions":false}`:                                  false,
		`{"tool":"Bash","args":{"a":1,"b":"<é"},"verdict":"allow","Executions":[]}`:                                     false,
		`{"tool":"Bash","args":{"a":1,"b":"<é"},"verdict":"allow","executionſ":[]}`:                                     false,
		`{"tool":"Bash","args":{"a":1,"b":"<é"},"verdict":"allow","verdict":"none"}`:                                    false,
		`{"tool":"Bash","args":{"a":1.0,"b":"<é"},"verdict":"allow"}`:                                                   false,
		`{"tool":"Bash","args":{"a":true,"b":"<é"},"verdict":"allow"}`:                                                  false,
		`{"tool":"Bash","args":{"a":"1","b":"<é"},"verdict":"allow"}`:                                                   false,
		`{"tool":"Bash","args":{"b":"<é","a":1},"verdict":"allow"}`:                                                     false,
		`{"tool":"Bash","args":[["a",1],["b","<é"]],"verdict":"allow"}`:                                                 false,
		`{"tool":"Bash","args":{"a":1,"b":"<é"},"verdict":null}`:                                                        false,
		`{"tool":"Bash","args":{"a":1,"b":"<é"},"verdict":false}`:                                                       false,
	} {
		compareRecordings(t, v, key, events.ToolBefore, first, second, isSame)
	}
}

// Both verifiers agree that two imports can differ in what the source does not state.
func TestVerifier_FormsOfUnstatedMembers(t *testing.T) {
	v, key := start(t), ledgertest.NewKey(t)
	const first, untimed = `{"success":true,"cost":{"usd":1.5,"estimated":true,"prices":"a"}}`, `{"success":true,"untimed":true}`
	for second, isSame := range map[string]bool{
		`{"success":true,"cost":{"usd":2,"estimated":true,"prices":"b"}}`: true,
		`{"success":true}`:                true,
		`{"untimed":true,"success":true}`: true,
		`{"success":false,"cost":{"usd":1.5,"estimated":true,"prices":"a"}}`:   false,
		`{"success":true,"cost":{"usd":2}}`:                                    false,
		`{"success":true,"cost":{"usd":2,"estimated":false}}`:                  false,
		`{"success":true,"cost":{"usd":2,"estimated":1}}`:                      false,
		`{"success":true,"cost":{"usd":2,"estimated":true,"Estimated":false}}`: false,
		`{"success":true,"cost":{"usd":2,"eſtimated":true}}`:                   false,
		`{"success":true,"cost":[["estimated",true]]}`:                         false,
		`{"success":true,"Cost":{"usd":2,"estimated":true}}`:                   false,
		`{"success":true,"cost":{"usd":2,"estimated":true},"coſt":{"usd":2}}`:  false,
		`{"success":true,"untimed":1}`:                                         false,
		`{"success":true,"untimed":"true"}`:                                    false,
		`{"success":true,"untimed":true,"untimed":true}`:                       false,
	} {
		compareRecordings(t, v, key, events.RunFinished, first, second, isSame)
	}
	compareRecordings(t, v, key, events.RunFinished, untimed, first, true)
	compareRecordings(t, v, key, events.StepFinished, `{"cost":{"estimated":true,"usd":1}}`, `{"cost":{"estimated":true,"usd":2}}`, false)
}

func compareRecordings(t *testing.T, v *pyverify.Verifier, key *writer.Key, kind events.Kind, first, second string, isSame bool) {
	t.Helper()
	f := ledgertest.NewFeed("acme")
	for i, data := range []string{first, second} {
		e := ledgertest.Form{Kind: kind, Data: data}.Event("c")
		e.ID = "one"
		f.Publish(fmt.Sprint("p", i), e)
		f.Manifest(fmt.Sprint("p", i))
	}
	path := ledgertest.Write(t, t.TempDir(), key, f, 1000)
	r := ledgertest.Verify(t, path, key, verifier.Options{Tenant: "acme"})
	if (r.RecordedTwice == 1) != isSame || (r.Contradictions == 0) != isSame {
		t.Errorf("%s: recorded twice %d, contradictions %d", second, r.RecordedTwice, r.Contradictions)
	}
	v.Compare(t, pyverify.Request{Path: path, Key: key.Public(), Tenant: "acme"}, r)
	file := export(t, key, path, ledger.Selection{}, false)
	b, err := bundle.Check(t.Context(), file, bundle.CheckOptions{Key: ledgertest.VerifierOf(key)})
	if err != nil {
		t.Fatal(err)
	}
	v.Compare(t, pyverify.Request{Path: file, Key: key.Public()}, b.Report)
}

// The finding about an unproven producer has one id in the ledger, for a run and in its bundle, so
// an acknowledgement counts everywhere.
//
//guarantee:acknowledged
func TestVerifier_UnprovenProducerOfARun(t *testing.T) {
	v, key := start(t), ledgertest.NewKey(t)
	for name, build := range map[string]func(f *ledgertest.Feed){
		"Silent": func(f *ledgertest.Feed) { f.Run("p", "r2", 3) },
		"Lost": func(f *ledgertest.Feed) {
			f.Run("p", "r2", 3)
			f.Lose("q", "p")
		},
		"NoManifest": func(f *ledgertest.Feed) {
			f.Event("u", "r2", events.Custom, map[string]any{"name": "n"})
			f.Event("u", "r1", events.Custom, map[string]any{"name": "n"})
			f.Close("p")
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, f := t.TempDir(), ledgertest.NewFeed("acme")
			f.Open("p", time.Minute)
			f.Run("p", "r0", 1)
			f.Run("p", "r1", 1)
			build(f)
			f.Now = f.Now.Add(time.Hour)
			f.Run("q", "r3", 1)
			path := ledgertest.Write(t, dir, key, f, 1000)
			r := ledgertest.Verify(t, path, key, verifier.Options{Tenant: "acme"})
			judge := func(allow bool) bundle.Report {
				file := export(t, key, path, ledger.Selection{Run: "r1"}, false)
				b, err := bundle.Check(t.Context(), file, bundle.CheckOptions{Key: ledgertest.VerifierOf(key), AllowAcknowledged: allow})
				if err != nil {
					t.Fatal(err)
				}
				v.Compare(t, pyverify.Request{Path: file, Key: key.Public(), AllowAcknowledged: allow}, b.Report)
				return b
			}
			b := judge(false)
			if len(r.Matters) != 1 || len(b.Matters) != 1 || r.Matters[0].ID != b.Matters[0].ID || b.Exit != verifier.ExitIncomplete {
				t.Fatalf("ledger %+v, bundle %+v with exit %d", r.Matters, b.Matters, b.Exit)
			}
			f.Order(t, key, ledger.Order{Action: events.AuditAcknowledge, Findings: []string{r.Matters[0].ID}})
			f.Manifest("auditor/e1")
			path = ledgertest.Continued(t, dir, key, f, 1000)
			if b := judge(true); b.Exit != verifier.ExitVerified || b.AcknowledgedCount != 1 {
				t.Errorf("acknowledged: exit %d, %+v", b.Exit, b.Matters)
			}
		})
	}
}

// The first content under a number says when the number before it was lost, also if it is a
// repetition. A later conflict under the number does not move the loss into its own time.
func TestVerifier_WindowBesideARepetition(t *testing.T) {
	v, f, key := start(t), ledgertest.NewFeed("acme"), ledgertest.NewKey(t)
	e := f.Event("p", "r1", events.RunStarted, events.RunStartedData{})
	f.Skip("p", 1, "")
	third := f.Publish("p", e)
	f.Now = f.Now.Add(time.Hour)
	later := f.Now
	third.ID = "other"
	f.Add(subjects.Address{Tenant: "acme", Producer: "p", Run: "r1", Kind: events.RunStarted}, third.Encode())
	path := ledgertest.Write(t, t.TempDir(), key, f, 1000)
	for _, o := range []verifier.Options{{}, {From: later}, {To: later}} {
		o.Tenant = "acme"
		r := ledgertest.Verify(t, path, key, o)
		if want := o.From.IsZero(); (len(r.Gaps) == 1) != want || r.SeenAgain != 1 || r.Contradictions != 1 {
			t.Errorf("from %s to %s: gaps %+v, seen again %d, contradictions %d", o.From, o.To, r.Gaps, r.SeenAgain, r.Contradictions)
		}
		v.Compare(t, pyverify.Request{Path: path, Key: key.Public(), Tenant: "acme", From: o.From, To: o.To}, r)
	}
}
