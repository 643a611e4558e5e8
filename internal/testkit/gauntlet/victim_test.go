package gauntlet

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

const tenant = "acme"

// victim is an honest ledger with rows in every table, which attacks copy.
type victim struct {
	path     string
	key      *key
	kept     []byte   // newest stored checkpoint
	older    []string // earlier copies of the file
	foreign  string   // ledger of another tenant
	messages []ledger.Message
	stream   ledger.Stream
	signed   []ledger.Checkpoint
}

func newVictim(t *testing.T, r *rand.Rand) *victim {
	t.Helper()
	w := newWorld(t)
	a, b, c := w.producer(t, "coder/e4"), w.producer(t, "tester"), w.producer(t, "import")
	v := &victim{path: w.ledger(t, tenant), foreign: w.ledger(t, "other")}
	var sent []events.Event
	for phase := range 6 {
		for i := range 2 {
			run := fmt.Sprintf("run %d/%d", phase, i)
			first := send(t, a, tenant, run, events.RunStarted, events.RunStartedData{Title: "gauntlet"})
			sent = append(sent, first)
			sendCalls(t, a, tenant, run, 2+r.IntN(3))
			send(t, a, tenant, run, events.RunFinished, events.RunFinishedData{Success: true})
			flush(t, a)
			sendRun(t, b, "other", run, 1)
			sendRun(t, b, tenant, "tests "+run, 1+r.IntN(3))
			flush(t, b)
		}
		v.seedOddities(t, w, c, pick(r, sent), phase)
		if phase > 0 {
			v.older = append(v.older, copyFile(t, t.TempDir(), v.path))
		}
		w.drain(t)
	}
	v.key = w.key(t)
	v.read(t, w)
	got := verify(t, v.path, tenant, v.key, nil)
	if got.Exit != verifier.ExitVerified || got.SetApart != 1 || got.SeenAgain == 0 {
		t.Fatalf("before any attack: %+v", got)
	}
	v.kept = []byte(got.Checkpoint.Note)
	return v
}

// seedOddities sends repetitions, invalid events and parts of a blob.
func (v *victim) seedOddities(t *testing.T, w *world, p *publish.Publisher, e events.Event, phase int) {
	t.Helper()
	send(t, p, tenant, e.Run, e.Kind(), events.RunStartedData{Title: "gauntlet"}, func(again *events.Event) {
		again.ID, again.Source, again.Data = e.ID, e.Source, e.Data
	})
	switch phase {
	case 2:
		w.raw(t, subjects.Address{Tenant: tenant, Producer: "nobody", Run: "r", Kind: events.ToolBefore}, []byte("{"))
	case 4:
		content := []byte("content of a blob")
		send(t, p, tenant, "blob", events.BlobChunk, events.BlobChunkData{
			SHA256: events.HashOf(content).String(), Bytes: int64(len(content)), Chunks: 1, Content: content,
		})
	}
	flush(t, p)
}

// raw publishes bytes on a subject, like any client of the broker.
func (w *world) raw(tb testing.TB, a subjects.Address, data []byte) {
	tb.Helper()
	subject, err := w.broker.Space().Event(a.Tenant, a.Producer, a.Run, a.Kind)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := w.broker.JetStream().Publish(deadline(tb), subject, data); err != nil {
		tb.Fatal(err)
	}
}

func (w *world) stream(tb testing.TB) jetstream.Stream {
	tb.Helper()
	s, err := w.broker.JetStream().Stream(deadline(tb), w.broker.Space().EventStream())
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func (w *world) messages(tb testing.TB, of string) (all []ledger.Message) {
	tb.Helper()
	s := w.stream(tb)
	info, err := s.Info(deadline(tb))
	if err != nil {
		tb.Fatal(err)
	}
	for n := info.State.FirstSeq; n <= info.State.LastSeq; n++ {
		m, err := s.GetMsg(deadline(tb), n)
		if err != nil {
			continue // deleted
		}
		a, err := w.broker.Space().Parse(m.Subject)
		if err != nil {
			tb.Fatal(err)
		}
		if of == "" || a.Tenant == of {
			all = append(all, ledger.Message{Sequence: n, Address: a, Data: m.Data, Stored: m.Time})
		}
	}
	return all
}

func (v *victim) read(t *testing.T, w *world) {
	t.Helper()
	v.messages = w.messages(t, tenant)
	v.stream = ledger.Stream{Epoch: 1, Created: w.stream(t).CachedInfo().Created}
	f := open(t, v.path)
	defer f.close(t)
	for _, text := range f.texts("SELECT note FROM checkpoints ORDER BY checkpoint") {
		c, err := ledger.ReadCheckpoint([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		v.signed = append(v.signed, c)
	}
}

// write writes messages with the auditor's code, at the times of the victim's checkpoints.
func (v *victim) write(t *testing.T, dir string, k *key, messages []ledger.Message) string {
	t.Helper()
	now := time.Time{}
	l, err := writer.Open(t.Context(), dir, tenant, writer.Options{Key: k.Key, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range v.signed {
		if i%4 > 0 && i < len(v.signed)-1 {
			continue // a few batches are enough, because each is synced
		}
		now = c.Time
		n := 0
		for n < len(messages) && (messages[n].Sequence <= c.Position.Sequence || i == len(v.signed)-1) {
			n++
		}
		if _, err := l.Append(t.Context(), v.stream, messages[:n]); err != nil {
			t.Fatal(err)
		}
		messages = messages[n:]
	}
	return closed(t, l, dir)
}

func closed(t *testing.T, l *writer.Ledger, dir string) string {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	path, err := ledger.Path(dir, tenant)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
