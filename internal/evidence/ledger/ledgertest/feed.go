package ledgertest

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
)

var (
	// Began is the time at which every [Feed] starts.
	Began = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	// Stream is the stream of every [Feed].
	Stream = ledger.Stream{Epoch: 1, Created: Began.Add(-time.Hour)}
)

// Feed builds the messages of a stream as publishers would send them.
type Feed struct {
	Tenant    string
	Now       time.Time
	Messages  []ledger.Message
	producers map[string]*Source
	calls     int
}

// Source is the simulated state of one producer of a feed.
type Source struct {
	seq     uint64
	Pending []events.Hash // sent, but not yet in a manifest
	first   uint64
	missing []events.Range
	prev    string
	key     ed25519.PrivateKey // nil if the producer does not sign
	next    ed25519.PrivateKey // replaces key after the next manifest
	grant   *events.Grant      // for the next manifest
	pulse   pulse
	runs    map[string]*events.RunSealedData
	digests map[string][32]byte
}

// NewFeed returns an empty feed for the given tenant.
func NewFeed(tenant string) *Feed {
	return &Feed{Tenant: tenant, Now: Began, producers: make(map[string]*Source)}
}

// Source returns the simulated state of a producer, and creates the producer if necessary.
func (f *Feed) Source(producer string) *Source {
	s, ok := f.producers[producer]
	if !ok {
		s = &Source{first: 1, runs: make(map[string]*events.RunSealedData), digests: make(map[string][32]byte)}
		f.producers[producer] = s
	}
	return s
}

// Event publishes an event of the given kind and run, and returns the event.
func (f *Feed) Event(producer, run string, kind events.Kind, payload any) events.Event {
	e, err := events.New(kind, "/test", payload)
	if err != nil {
		panic(err)
	}
	e.ID = events.DeriveID(producer, run, fmt.Sprint(len(f.Messages)))
	e.Run, e.Subject = run, run
	if kind == events.ToolBefore || kind == events.ToolResult {
		if kind == events.ToolBefore {
			f.calls++
		}
		e.ToolCall = fmt.Sprint("call-", f.calls)
	}
	return f.Publish(producer, e)
}

// Publish publishes e as the next event of a producer and returns it as sent.
func (f *Feed) Publish(producer string, e events.Event) events.Event {
	s := f.Source(producer)
	s.seq++
	f.Now = f.Now.Add(time.Millisecond)
	e.Time, e.Tenant, e.Producer, e.Sequence, e.Salt = f.Now, f.Tenant, producer, s.seq, "c2FsdHNhbHRzYWx0c2FsdA"
	data := e.Encode()
	h := events.HashOf(data)
	s.Pending = append(s.Pending, h)
	if e.Run != "" && e.Kind() != events.RunSealed {
		r, ok := s.runs[e.Run]
		if !ok {
			r = &events.RunSealedData{First: s.seq}
			s.runs[e.Run] = r
		}
		r.Count++
		r.Last = s.seq
		d := s.digests[e.Run]
		s.digests[e.Run] = sha256.Sum256(append(d[:], h[:]...))
	}
	f.Add(subjects.Address{Tenant: f.Tenant, Producer: producer, Run: e.Run, Kind: e.Kind()}, data)
	return e
}

// Add adds a message to the stream.
func (f *Feed) Add(a subjects.Address, data []byte) {
	f.Now = f.Now.Add(time.Millisecond)
	f.Messages = append(f.Messages, ledger.Message{
		Sequence: uint64(len(f.Messages) + 1), Address: a, Data: data, Stored: f.Now,
	})
}

// Skip makes a producer skip n sequence numbers. The next manifest lists these numbers as missing
// with the given reason.
func (f *Feed) Skip(producer string, n uint64, reason string) {
	s := f.Source(producer)
	s.missing = append(s.missing, events.Range{First: s.seq + 1, Last: s.seq + n, Reason: reason})
	s.seq += n
}

// Seal publishes an event with which a producer declares that it has sent all its events of a run.
func (f *Feed) Seal(producer, run string) {
	s := f.Source(producer)
	d := *s.runs[run]
	digest := s.digests[run]
	d.Digest = hex.EncodeToString(digest[:])
	e, err := events.New(events.RunSealed, "/test", d)
	if err != nil {
		panic(err)
	}
	e.ID, e.Run, e.Subject = d.ID(f.Tenant, producer, run), run, run
	f.Publish(producer, e)
}

// Manifest publishes a manifest that lists the events of a producer since its previous manifest.
func (f *Feed) Manifest(producer string) {
	s := f.Source(producer)
	m := events.Manifest{
		Version: 1, Tenant: f.Tenant, Producer: producer, First: s.first, Last: s.seq,
		Count: uint64(len(s.Pending)), Missing: s.missing, Prev: s.prev, Root: events.BatchRoot(s.Pending).String(),
	}
	m.Grant = s.grant
	if s.next != nil {
		m.Next = public(s.next)
	}
	s.pulse.announce(&m)
	m = Sign(m, s.key)
	if s.next != nil {
		s.key = s.next
	}
	s.grant, s.next = nil, nil
	data := m.Encode()
	s.first, s.Pending, s.missing, s.prev = s.seq+1, nil, nil, events.HashOf(data).String()
	f.Add(subjects.Address{Tenant: f.Tenant, Producer: producer, Manifest: true}, data)
}

// Run publishes a run of n tool calls, its seal and a manifest.
func (f *Feed) Run(producer, run string, n int) {
	f.Event(producer, run, events.RunStarted, events.RunStartedData{Title: "a run"})
	for i := range n {
		call := f.Event(producer, run, events.ToolBefore, events.ToolBeforeData{
			Tool: "Bash", Args: fmt.Appendf(nil, `{"command":"echo %d"}`, i),
		})
		f.Event(producer, run, events.ToolResult, events.ToolResultData{
			Tool: "Bash", Status: events.ToolSuccess, Result: fmt.Appendf(nil, `"of %s"`, call.ID),
		})
	}
	f.Event(producer, run, events.RunFinished, events.RunFinishedData{Success: true, ToolCalls: n})
	f.Seal(producer, run)
	f.Manifest(producer)
}

// At returns a time one second after the time of the last message. Tests use At as the clock of a
// ledger.
func (f *Feed) At() time.Time { return f.Now.Add(time.Second) }
