package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
)

var (
	began  = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	stream = Stream{Epoch: 1, Created: began.Add(-time.Hour)}
)

// feed makes the messages of a stream, as publishers would store them.
type feed struct {
	tenant    string
	now       time.Time
	messages  []Message
	producers map[string]*source
	calls     int
}

// source is one publisher's side of a feed.
type source struct {
	seq     uint64
	pending []events.Hash // sent, not listed yet
	first   uint64
	missing []events.Range
	prev    string
	runs    map[string]*events.RunSealedData
	digests map[string][32]byte
}

func newFeed(tenant string) *feed {
	return &feed{tenant: tenant, now: began, producers: make(map[string]*source)}
}

func (f *feed) source(producer string) *source {
	s, ok := f.producers[producer]
	if !ok {
		s = &source{first: 1, runs: make(map[string]*events.RunSealedData), digests: make(map[string][32]byte)}
		f.producers[producer] = s
	}
	return s
}

// event publishes an event of run and returns it.
func (f *feed) event(producer, run string, kind events.Kind, payload any) events.Event {
	e, err := events.New(kind, "/test", payload)
	if err != nil {
		panic(err)
	}
	e.ID = events.DeriveID(producer, run, fmt.Sprint(len(f.messages)))
	e.Run, e.Subject = run, run
	if kind == events.ToolBefore || kind == events.ToolResult {
		if kind == events.ToolBefore {
			f.calls++
		}
		e.ToolCall = fmt.Sprint("call-", f.calls)
	}
	return f.publish(producer, e)
}

func (f *feed) publish(producer string, e events.Event) events.Event {
	s := f.source(producer)
	s.seq++
	f.now = f.now.Add(time.Millisecond)
	e.Time, e.Tenant, e.Producer, e.Sequence, e.Salt = f.now, f.tenant, producer, s.seq, "c2FsdHNhbHRzYWx0c2FsdA"
	data := e.Encode()
	h := events.HashOf(data)
	s.pending = append(s.pending, h)
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
	f.add(subjects.Address{Tenant: f.tenant, Producer: producer, Run: e.Run, Kind: e.Kind()}, data)
	return e
}

func (f *feed) add(a subjects.Address, data []byte) {
	f.now = f.now.Add(time.Millisecond)
	f.messages = append(f.messages, Message{
		Sequence: uint64(len(f.messages) + 1), Address: a, Data: data, Stored: f.now,
	})
}

// skip numbers events that will never come.
func (f *feed) skip(producer string, n uint64, reason string) {
	s := f.source(producer)
	s.missing = append(s.missing, events.Range{First: s.seq + 1, Last: s.seq + n, Reason: reason})
	s.seq += n
}

// seal closes a run.
func (f *feed) seal(producer, run string) {
	s := f.source(producer)
	d := *s.runs[run]
	digest := s.digests[run]
	d.Digest = hex.EncodeToString(digest[:])
	e, err := events.New(events.RunSealed, "/test", d)
	if err != nil {
		panic(err)
	}
	e.ID, e.Run, e.Subject = d.ID(f.tenant, producer, run), run, run
	f.publish(producer, e)
}

// manifest closes the producer's batch.
func (f *feed) manifest(producer string) {
	s := f.source(producer)
	m := events.Manifest{
		Version: 1, Tenant: f.tenant, Producer: producer, First: s.first, Last: s.seq,
		Count: uint64(len(s.pending)), Missing: s.missing, Prev: s.prev, Root: events.BatchRoot(s.pending).String(),
	}
	data := m.Encode()
	s.first, s.pending, s.missing, s.prev = s.seq+1, nil, nil, events.HashOf(data).String()
	f.add(subjects.Address{Tenant: f.tenant, Producer: producer, Manifest: true}, data)
}

// run publishes a whole run of n tool calls, sealed, in one batch.
func (f *feed) run(producer, run string, n int) {
	f.event(producer, run, events.RunStarted, events.RunStartedData{Title: "a run"})
	for i := range n {
		call := f.event(producer, run, events.ToolBefore, events.ToolBeforeData{
			Tool: "Bash", Args: fmt.Appendf(nil, `{"command":"echo %d"}`, i),
		})
		f.event(producer, run, events.ToolResult, events.ToolResultData{
			Tool: "Bash", Status: events.ToolSuccess, Result: fmt.Appendf(nil, `"of %s"`, call.ID),
		})
	}
	f.event(producer, run, events.RunFinished, events.RunFinishedData{Success: true, ToolCalls: n})
	f.seal(producer, run)
	f.manifest(producer)
}

// at returns a clock that stands behind the feed.
func (f *feed) at() time.Time { return f.now.Add(time.Second) }
