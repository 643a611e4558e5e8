package pyverify_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/bundle"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/internal/testkit/pyverify"
	"github.com/hooktrail/hooktrail/internal/testkit/race"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// history is a random feed. Producers are honest, careless or forged.
type history struct {
	*ledgertest.Feed
	*rand.Rand

	sealable map[string]bool // producer and run with an event
}

var (
	randomProducers = []string{"a", "b", "c", "d"}
	randomRuns      = []string{"r1", "r2", "r3", ""}
)

func (h *history) producer() string { return randomProducers[h.IntN(len(randomProducers))] }
func (h *history) run() string      { return randomRuns[h.IntN(len(randomRuns))] }
func (h *history) message() ledger.Message {
	return h.Messages[h.IntN(len(h.Messages))]
}

// step adds a random piece.
func (h *history) step() {
	p, run := h.producer(), h.run()
	switch n := h.IntN(25); {
	case n < 8:
		kinds := []events.Kind{events.RunStarted, events.PromptSubmit, events.RunFinished, events.Custom}
		h.Event(p, run, kinds[h.IntN(len(kinds))], map[string]any{"title": n, "prompt": "x", "success": true, "name": "n"})
		h.sealable[p+"/"+run] = run != ""
	case n < 11:
		if h.sealable[p+"/"+run] {
			h.Seal(p, run)
		}
	case n < 16:
		h.close(p)
	case n == 16:
		first := uint64(1 + h.IntN(6))
		h.Skip(p, 1+h.Uint64N(3), "shed")
		h.Event(p, "", events.GapRecorded, events.GapRecordedData{First: first, Last: first + h.Uint64N(4), Reason: "shed"})
	case n == 17:
		h.Now = h.Now.Add(time.Duration(h.IntN(50)) * time.Minute)
	case n == 18:
		h.LoseKey("d", p, []string{"", ledgertest.PublicKey(p), ledgertest.PublicKey("stranger")}[h.IntN(3)])
	case n == 19 && len(h.Messages) > 0:
		h.forge()
	case n == 20 && len(h.Messages) > 0:
		if e, err := events.Decode(h.message().Data); err == nil {
			h.Publish(p, e)
		}
	case n == 21 && len(h.Messages) > 0:
		m := h.message()
		m.Address.Producer = "misaddressed"
		h.Add(m.Address, m.Data)
	case n == 22:
		call := func(kind events.Kind, payload string) {
			h.Event(p, run, kind, map[string]any{"tool": "Bash", "verdict": payload, "status": "success"})
		}
		call(events.ToolBefore, []string{"deny", "allow"}[h.IntN(2)])
		call(events.ToolResult, "")
		if e, err := events.Decode(h.Messages[len(h.Messages)-2].Data); err == nil && h.IntN(2) == 0 { // after its result
			e.ID, e.User = e.ID+"-"+[]string{"again", ""}[h.IntN(2)], []string{"", "jdoe", "amy"}[h.IntN(3)]
			e.Data = []byte(`{"tool":"Bash","verdict":"deny"}`)
			h.Publish(h.producer(), e)
		}
		h.sealable[p+"/"+run] = run != ""
	case n == 23:
		h.manifest(p)
	case n == 24:
		forms := allForms()
		h.Publish(p, forms[h.IntN(len(forms))].Event([]string{"", "call-1", "call-2"}[h.IntN(3)]))
	}
}

// close publishes a manifest, and perhaps announces a state or another key in it.
func (h *history) close(p string) {
	s := h.Source(p)
	if len(s.Pending) == 0 {
		return
	}
	switch h.IntN(8) {
	case 0:
		h.Open(p, time.Duration(1+h.IntN(20))*time.Minute)
	case 1:
		h.Sign(p)
	case 2:
		h.Enrol(p, "owner")
	}
	h.Manifest(p)
	switch h.IntN(6) {
	case 0:
		h.Close(p)
	case 1:
		h.Beat(p)
	}
}

// forge sends other content under a number that is in use.
func (h *history) forge() {
	m := h.message()
	e, err := events.Decode(m.Data)
	if err != nil {
		return
	}
	e.Agent = "somebody else"
	if h.IntN(2) == 0 {
		e.ID = events.DeriveID(e.ID, "forged", fmt.Sprint(len(h.Messages)))
	}
	if h.IntN(3) == 0 {
		e.Sequence += h.Uint64N(5)
	}
	h.Add(m.Address, e.Encode())
}

// manifest sends a manifest that does not continue the chain, or not with the right key.
func (h *history) manifest(p string) {
	m := events.Manifest{
		Version: 1, Tenant: h.Tenant, Producer: p, First: 1 + h.Uint64N(5), Root: events.BatchRoot(nil).String(),
	}
	m.Last = m.First + h.Uint64N(4)
	m.Missing = []events.Range{{First: m.First, Last: m.Last}}
	if m.First > 1 && h.IntN(3) > 0 {
		m.Prev = m.Root
	}
	key := ledgertest.ProducerKey([]string{p, "stranger"}[h.IntN(2)])
	if h.IntN(3) == 0 {
		key = nil
	}
	h.AddManifest(ledgertest.Sign(m, key))
}

// damage loses, repeats and moves messages in the stream.
func (h *history) damage() {
	for range h.IntN(4) {
		i := h.IntN(len(h.Messages))
		switch h.IntN(3) {
		case 0:
			if len(h.Messages) > 1 {
				h.Messages = slices.Delete(h.Messages, i, i+1)
			}
		case 1:
			h.Messages = slices.Insert(h.Messages, i, h.message())
		case 2:
			if j := min(len(h.Messages)-1, i+1+h.IntN(3)); j > i {
				m := h.Messages[i]
				h.Messages = slices.Insert(slices.Delete(h.Messages, i, i+1), j, m)
			}
		}
	}
	stored := ledgertest.Began
	for i := range h.Messages {
		m := &h.Messages[i]
		if m.Sequence = uint64(i + 1); m.Stored.Before(stored) {
			m.Stored = stored
		}
		stored = m.Stored
	}
}

// TestVerifier_Random compares all verdicts about random histories, with the ids of all
// findings, also about runs, times and bundles.
//
//guarantee:second-verifier
func TestVerifier_Random(t *testing.T) {
	v, seed := start(t), rand.Uint64()
	if text := os.Getenv("HOOKTRAIL_GAUNTLET_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("HOOKTRAIL_GAUNTLET_SEED=%d", seed)
	for n := range randomHistories() {
		h := &history{ledgertest.NewFeed("acme"), rand.New(rand.NewPCG(seed, uint64(n))), make(map[string]bool)}
		key := ledgertest.NewKey(t)
		for range 5 + h.IntN(60) {
			h.step()
		}
		if len(h.Messages) > 0 {
			h.compare(t, v, key)
		}
		if t.Failed() {
			t.Fatalf("history %d", n)
		}
	}
}

func (h *history) compare(t *testing.T, v *pyverify.Verifier, key *writer.Key) {
	t.Helper()
	dir := t.TempDir()
	h.damage()
	path := ledgertest.Write(t, dir, key, h.Feed, 1+h.IntN(20))
	r := ledgertest.Checked(t, path, key)
	h.acknowledge(t, key, r)
	path = ledgertest.Continued(t, dir, key, h.Feed, 50)
	from, to := h.Messages[h.IntN(len(h.Messages))].Stored, h.Messages[h.IntN(len(h.Messages))].Stored
	if to.Before(from) {
		from, to = to, from
	}
	for _, o := range []verifier.Options{
		{},
		{AllowAcknowledged: true, RequireEnrolled: true, Silence: time.Minute},
		{Run: "r1", AllowAcknowledged: true},
		{From: from, To: to},
		{From: from, AllowAcknowledged: true},
		{Run: "r2", To: to},
	} {
		o.Tenant = h.Tenant
		q := pyverify.Request{
			Path: path, Key: key.Public(), Tenant: h.Tenant, Run: o.Run, From: o.From, To: o.To, AllowAcknowledged: o.AllowAcknowledged,
			RequireEnrolled: o.RequireEnrolled, Silence: o.Silence,
		}
		v.Compare(t, q, ledgertest.Verify(t, path, key, o))
	}
	selections := []ledger.Selection{{}, {Run: "r1"}, {Run: "r2"}, {From: ledgertest.Began, To: to.Add(time.Hour)}, {From: from, To: to.Add(1), Stored: true}}
	s := selections[h.IntN(len(selections))]
	if (s.Run != "" || s.Stored) && !slices.ContainsFunc(ledgertest.Leaves(t, path), func(e ledger.Entry) bool {
		return (s.Run == "" || e.Run == s.Run) && (!s.Stored || !e.Stored.Before(s.From) && e.Stored.Before(s.To))
	}) {
		return // there is nothing to export
	}
	h.compareBundle(t, v, key, path, s)
}

func (h *history) compareBundle(t *testing.T, v *pyverify.Verifier, key *writer.Key, path string, s ledger.Selection) {
	t.Helper()
	unsigned, allow := h.IntN(3) == 0, h.IntN(2) == 0
	file := export(t, key, path, s, unsigned)
	b, err := bundle.Check(context.WithoutCancel(t.Context()), file, bundle.CheckOptions{Key: ledgertest.VerifierOf(key), AllowAcknowledged: allow})
	if err != nil {
		t.Fatal(err)
	}
	v.Compare(t, pyverify.Request{Path: file, Key: key.Public(), AllowAcknowledged: allow}, b.Report)
	if unsigned || s.Run == "" && !s.Stored {
		return
	}
	l := ledgertest.Verify(t, path, key, verifier.Options{Run: s.Run, From: s.From, To: s.To, AllowAcknowledged: allow})
	if l.Exit != b.Exit || l.Completeness != b.Completeness {
		t.Errorf("%v, allow %t: the ledger says %s, %d, and the bundle %s, %d", s, allow, l.Completeness, l.Exit, b.Completeness, b.Exit)
	}
}

// acknowledge publishes an order about some of the findings.
func (h *history) acknowledge(t *testing.T, key *writer.Key, r verifier.Report) {
	t.Helper()
	var ids []string
	for _, m := range r.Matters {
		if h.IntN(3) > 0 && !slices.Contains(ids, m.ID) {
			ids = append(ids, m.ID)
		}
	}
	if len(ids) > 0 {
		h.Order(t, key, ledger.Order{Action: events.AuditAcknowledge, Findings: ids})
		h.Manifest("auditor/e1")
	}
	h.Add(subjects.Address{Tenant: h.Tenant, Producer: "z", Kind: events.Custom}, []byte("{"))
}

// randomHistories is how many histories are compared. HOOKTRAIL_GAUNTLET_HISTORIES sets it.
func randomHistories() int {
	if n, err := strconv.Atoi(os.Getenv("HOOKTRAIL_GAUNTLET_HISTORIES")); err == nil {
		return n
	}
	return race.Size(12, 2)
}
