package gauntlet

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// rewriter changes the history and all dependent data of producers: numbers, manifests, chains and
// seals. The auditor then writes the ledger from it.
type rewriter struct {
	tb   testing.TB
	of   map[string]*chain
	want []ledger.Message
}

type chain struct {
	next    uint64 // number
	listed  uint64
	pending []events.Hash
	prev    string
	runs    map[string]*sealing
}

type sealing struct {
	events.RunSealedData
	digest [sha256.Size]byte
}

// rewrite returns the messages that the producers would have sent.
func rewrite(tb testing.TB, messages []ledger.Message) []ledger.Message {
	tb.Helper()
	w := &rewriter{tb: tb, of: make(map[string]*chain)}
	for _, m := range messages {
		m.Data = w.message(m)
		w.want = append(w.want, m)
	}
	return w.want
}

func (w *rewriter) message(m ledger.Message) []byte {
	c, ok := w.of[m.Address.Producer]
	if !ok {
		c = &chain{next: 1, listed: 0, runs: make(map[string]*sealing)}
		w.of[m.Address.Producer] = c
	}
	if m.Address.Manifest {
		return c.manifest(w.tb, m.Data)
	}
	e, err := events.Decode(m.Data)
	if err != nil {
		return m.Data
	}
	e.Sequence = c.next
	c.next++
	if e.Kind() == events.RunSealed {
		c.seal(w.tb, &e)
	}
	data := e.Encode()
	hash := events.HashOf(data)
	c.pending = append(c.pending, hash)
	if e.Run != "" && e.Kind() != events.RunSealed {
		c.count(e, hash)
	}
	return data
}

func (c *chain) count(e events.Event, hash events.Hash) {
	s, ok := c.runs[e.Run]
	if !ok {
		s = &sealing{}
		s.First = e.Sequence
		c.runs[e.Run] = s
	}
	s.Count++
	s.Last = e.Sequence
	s.digest = sha256.Sum256(append(s.digest[:], hash[:]...))
}

func (c *chain) seal(tb testing.TB, e *events.Event) {
	tb.Helper()
	d, err := events.Payload[events.RunSealedData](*e)
	if err != nil {
		tb.Fatal(err)
	}
	s := c.runs[e.Run]
	d.Count, d.First, d.Last, d.Digest = s.Count, s.First, s.Last, hex.EncodeToString(s.digest[:])
	made, err := events.New(events.RunSealed, e.Source, d)
	if err != nil {
		tb.Fatal(err)
	}
	e.Data, e.ID = made.Data, d.ID(e.Tenant, e.Producer, e.Run)
}

func (c *chain) manifest(tb testing.TB, data []byte) []byte {
	tb.Helper()
	m, err := events.DecodeManifest(data)
	if err != nil {
		tb.Fatal(err)
	}
	m.First, m.Last, m.Count, m.Prev = c.listed+1, c.next-1, uint64(len(c.pending)), c.prev
	m.Root = events.BatchRoot(c.pending).String()
	m = ledgertest.Sign(m, ledgertest.ProducerKey("attacker")) // the attacker lacks the producers' keys
	data = m.Encode()
	c.listed, c.pending, c.prev = m.Last, nil, events.HashOf(data).String()
	return data
}

// historyChange changes messages at a random position.
type historyChange func(tb testing.TB, r *rand.Rand, messages []ledger.Message) []ledger.Message

// changeable returns the positions of valid tool calls and results.
func changeable(messages []ledger.Message) (at []int) {
	for i, m := range messages {
		if m.Address.Kind == events.ToolBefore || m.Address.Kind == events.ToolResult {
			if _, err := events.Decode(m.Data); err == nil {
				at = append(at, i)
			}
		}
	}
	return at
}

func changed(tb testing.TB, m ledger.Message, change func(*events.Event)) ledger.Message {
	tb.Helper()
	e, err := events.Decode(m.Data)
	if err != nil {
		tb.Fatal(err)
	}
	change(&e)
	m.Data = e.Encode()
	return m
}

func omitEvent(_ testing.TB, r *rand.Rand, messages []ledger.Message) []ledger.Message {
	i := pick(r, changeable(messages))
	return slices.Delete(messages, i, i+1)
}

func editEvent(tb testing.TB, r *rand.Rand, messages []ledger.Message) []ledger.Message {
	tb.Helper()
	i := pick(r, changeable(messages))
	messages[i] = changed(tb, messages[i], func(e *events.Event) {
		e.Data = fmt.Appendf(nil, `{"tool":"Forged %d"}`, r.IntN(1000))
	})
	return messages
}

// invent adds an event and delays the events after it.
func invent(tb testing.TB, r *rand.Rand, messages []ledger.Message) []ledger.Message {
	tb.Helper()
	i := pick(r, changeable(messages))
	m := changed(tb, messages[i], func(e *events.Event) { e.ID = fmt.Sprintf("invented-%d", r.Uint64()) })
	for j := range messages[i:] {
		messages[i+j].Sequence++
	}
	return slices.Insert(messages, i, m)
}

func confuse(_ testing.TB, r *rand.Rand, messages []ledger.Message) []ledger.Message {
	at := slices.DeleteFunc(changeable(messages), func(i int) bool {
		return i+1 == len(messages) || messages[i+1].Address.Kind == events.RunFinished || messages[i+1].Address.Run != messages[i].Address.Run
	})
	i := pick(r, at)
	a, b := &messages[i], &messages[i+1]
	a.Address, b.Address, a.Data, b.Data = b.Address, a.Address, b.Data, a.Data
	return messages
}

// rewrites changes histories and the data of producers, and writes the ledgers with the auditor's
// code.
func (g *gauntlet) rewrites(t *testing.T, v *victim) {
	t.Helper()
	thief := openKey(t, t.TempDir())
	for _, m := range []struct {
		name, what string
		change     historyChange
	}{
		{"Edit", "an event edited", editEvent},
		{"Delete", "an event deleted, all later ones renumbered", omitEvent},
		{"Insert", "an event inserted, all later ones renumbered", invent},
		{"Swap", "two events in the other order", confuse},
	} {
		g.rewrite(t, v, thief, attack{
			name: m.name + "/HistoryRewritten", has: "the file", alone: "INVALID (40)", kept: "INVALID (40)",
			what: m.what + ", the ledger written again with manifests, seals and a key of their own",
		}, m.change)
		g.rewrite(t, v, v.key, attack{
			name: m.name + "/HistoryRewrittenAndSigned", has: "the file, the key", alone: "VERIFIED, COMPLETE (0)", kept: "diverged (30)",
			what: m.what + ", the ledger written again with manifests, seals and signatures",
		}, m.change)
	}
}

// clock sets the auditor's clock back by an hour. The time in the ledger must not decrease.
func (g *gauntlet) clock(t *testing.T, v *victim) {
	t.Helper()
	a := attack{
		name: "AuditorsClock", what: "the auditor's clock set back by an hour", has: "nothing",
		alone: "VERIFIED, COMPLETE (0)", kept: "VERIFIED, COMPLETE (0)", seen: "nothing else",
	}
	t.Run(a.name, func(t *testing.T) {
		r, row := g.random(a.name), g.add(a)
		for trial := range trials {
			slow := *v
			slow.signed = slices.Clone(v.signed)
			for i := 1 + r.IntN(len(slow.signed)-1); i < len(slow.signed); i++ {
				slow.signed[i].Time = slow.signed[i].Time.Add(-time.Hour)
			}
			row.check(t, trial, row.verify(t, slow.write(t, t.TempDir(), v.key, v.messages), tenant, v.key, v.kept))
		}
	})
}

func (g *gauntlet) rewrite(t *testing.T, v *victim, k *key, a attack, change historyChange) {
	t.Helper()
	t.Run(a.name, func(t *testing.T) {
		r, row := g.random(a.name), g.add(a)
		for trial := range trials {
			messages := rewrite(t, change(t, r, slices.Clone(v.messages)))
			row.check(t, trial, row.verify(t, v.write(t, t.TempDir(), k, messages), tenant, v.key, v.kept))
		}
	})
}
