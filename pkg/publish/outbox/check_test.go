package outbox

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/atomicbatch"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/cursor"
)

const testTimeout = 30 * time.Second

func testOptions(tb testing.TB, dir string) Options {
	tb.Helper()
	return Options{
		Dir: dir, Name: "test", Tenant: "acme", Redactor: NoRedaction,
		Linger: time.Millisecond, SealDelay: 50 * time.Millisecond, AckWait: 3 * time.Second,
		Logger: slog.New(slog.NewTextHandler(testLog{tb}, nil)),
	}
}

// testLog writes log lines only while the test runs.
type testLog struct{ tb testing.TB }

func (l testLog) Write(b []byte) (int, error) {
	if l.tb.Context().Err() == nil {
		l.tb.Logf("%s", b)
	}
	return len(b), nil
}

func mustOpen(tb testing.TB, nc *nats.Conn, opts Options) *Publisher {
	tb.Helper()
	p, err := Open(tb.Context(), atomicbatch.Over(nc), opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { kill(p) })
	return p
}

// kill ends p like a killed process, without a flush.
func kill(p *Publisher) {
	p.closing.Do(func() {
		p.intake.close()
		p.cancel()
		<-p.done
		p.fwd.disconnect()
		p.closed = p.lock.Close()
	})
}

func mustClose(tb testing.TB, p *Publisher) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), testTimeout)
	defer cancel()
	if err := p.Close(ctx); err != nil {
		tb.Fatal(err)
	}
}

func mustFlush(tb testing.TB, p *Publisher) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), testTimeout)
	defer cancel()
	if err := p.Flush(ctx); err != nil {
		tb.Fatal(err)
	}
}

func bootID(id string) func() string { return func() string { return id } }

func offline(tb testing.TB) *nats.Conn {
	tb.Helper()
	nc, err := nats.Connect("nats://127.0.0.1:1", nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(nc.Close)
	return nc
}

func stoppedServer(tb testing.TB) (*natstest.Server, *nats.Conn) {
	tb.Helper()
	srv := natstest.Listen(tb, tb.TempDir())
	nc := srv.Connect(tb)
	srv.Stop()
	return srv, nc
}

func newEvent(n int) events.Event {
	e, err := events.New(events.ToolBefore, "/test", events.ToolBeforeData{Tool: fmt.Sprintf("tool-%d", n)})
	if err != nil {
		panic(err)
	}
	e.ID, e.Tenant, e.Run = fmt.Sprintf("event-%d", n), "acme", "run-1"
	return e
}

func mustAppend(tb testing.TB, p *Publisher, e events.Event) events.Event {
	tb.Helper()
	stored, err := p.Append(tb.Context(), e)
	if err != nil {
		tb.Fatal(err)
	}
	return stored
}

func appendMany(tb testing.TB, p *Publisher, from, to int) {
	tb.Helper()
	for n := from; n < to; n++ {
		mustAppend(tb, p, newEvent(n))
	}
}

// appendOffline appends the events with numbers in [from, to) in a killed process that has no
// server.
func appendOffline(tb testing.TB, opts Options, from, to int) {
	tb.Helper()
	p := mustOpen(tb, offline(tb), opts)
	appendMany(tb, p, from, to)
	kill(p)
}

// appendOnline appends the events with numbers in [from, to) and returns the closed publisher.
func appendOnline(tb testing.TB, srv *natstest.Server, opts Options, from, to int) *Publisher {
	tb.Helper()
	p := mustOpen(tb, srv.Connect(tb), opts)
	appendMany(tb, p, from, to)
	mustClose(tb, p)
	return p
}

func until(tb testing.TB, what string, condition func() bool) {
	tb.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(testTimeout)
	for !condition() {
		select {
		case <-tick.C:
		case <-deadline:
			tb.Fatalf("timed out waiting until %s", what)
		}
	}
}

type producerKey struct{ tenant, producer string }

// history is the content of a stream without duplicates.
type history struct {
	events    []events.Event // in stream order, without events of the outbox itself
	gaps      []events.GapRecordedData
	seals     []events.Event
	manifests map[producerKey][]events.Manifest
	repeats   int
	stored    map[producerKey]map[uint64][]byte
	expected  map[producerKey]uint64
}

// checkStream reads the whole stream and checks all invariants of the write path: subjects, numbers
// and their order, chains of manifests, seals.
func checkStream(tb testing.TB, srv *natstest.Server) *history {
	tb.Helper()
	h := &history{
		manifests: map[producerKey][]events.Manifest{}, stored: map[producerKey]map[uint64][]byte{},
		expected: map[producerKey]uint64{},
	}
	prev := map[producerKey]string{}
	for _, msg := range srv.Messages(tb) {
		a, err := srv.Space().Parse(msg.Subject)
		if err != nil {
			tb.Fatal(err)
		}
		key := producerKey{a.Tenant, a.Producer}
		if h.stored[key] == nil {
			h.stored[key] = map[uint64][]byte{}
		}
		if a.Manifest {
			h.checkManifest(tb, key, msg.Data, prev)
		} else {
			h.checkEvent(tb, a, msg.Data)
		}
	}
	for key, stored := range h.stored {
		list := h.manifests[key]
		if len(list) == 0 {
			tb.Errorf("%v: %d events without a manifest", key, len(stored))
			continue
		}
		for n := range stored {
			if n > list[len(list)-1].Last {
				tb.Errorf("%v: #%d is behind the last manifest", key, n)
			}
		}
	}
	h.checkSeals(tb)
	return h
}

func (h *history) checkEvent(tb testing.TB, a subjects.Address, data []byte) {
	tb.Helper()
	e, err := events.Decode(data)
	if err != nil {
		tb.Fatal(err)
	}
	if err := e.Validate(); err != nil {
		tb.Errorf("%s: %v", e.ID, err)
	}
	if e.Tenant != a.Tenant || e.Producer != a.Producer || e.Run != a.Run || e.Kind() != a.Kind || e.Salt == "" {
		tb.Errorf("event %+v on the subject of %+v", e, a)
	}
	if string(e.Encode()) != string(data) || len(data) > events.MaxBytes {
		tb.Errorf("%s: stored bytes are not canonical, or too many: %d", e.ID, len(data))
	}
	key := producerKey{e.Tenant, e.Producer}
	if before, ok := h.stored[key][e.Sequence]; ok {
		h.repeats++
		if string(before) != string(data) {
			tb.Errorf("%v: #%d stands for two events", key, e.Sequence)
		}
		return
	}
	h.stored[key][e.Sequence] = data
	if e.Sequence <= h.expected[key] {
		tb.Errorf("%v: #%d came after #%d", key, e.Sequence, h.expected[key])
	}
	h.expected[key] = e.Sequence
	switch e.Kind() {
	case events.GapRecorded:
		d, err := events.Payload[events.GapRecordedData](e)
		if err != nil {
			tb.Fatal(err)
		}
		h.gaps = append(h.gaps, d)
	case events.RunSealed:
		h.seals = append(h.seals, e)
	default:
		h.events = append(h.events, e)
	}
}

func (h *history) checkManifest(tb testing.TB, key producerKey, data []byte, prev map[producerKey]string) {
	tb.Helper()
	m, err := events.DecodeManifest(data)
	if err == nil {
		err = m.Validate()
	}
	if err != nil {
		tb.Fatalf("manifest of %v: %v", key, err)
	}
	if m.Tenant != key.tenant || m.Producer != key.producer {
		tb.Errorf("manifest of %s/%s on the chain of %v", m.Tenant, m.Producer, key)
	}
	if m.Prev != prev[key] {
		tb.Errorf("%v: manifest %d–%d does not continue the chain", key, m.First, m.Last)
	}
	prev[key] = events.HashOf(data).String()
	if list := h.manifests[key]; len(list) > 0 && m.First != list[len(list)-1].Last+1 || len(list) == 0 && m.First != 1 {
		tb.Errorf("%v: manifest begins at #%d", key, m.First)
	}
	h.manifests[key] = append(h.manifests[key], m)
	var hashes []events.Hash
	for n := m.First; n <= m.Last; n++ {
		event, ok := h.stored[key][n]
		if ok == lists(m, n) {
			tb.Errorf("%v: #%d is there, and listed as missing: both %t", key, n, ok)
		}
		if ok {
			hashes = append(hashes, events.HashOf(event))
		}
	}
	if m.Root != events.BatchRoot(hashes).String() || m.Count != uint64(len(hashes)) {
		tb.Errorf("%v: manifest %d–%d has another root or count than its events", key, m.First, m.Last)
	}
}

func (h *history) checkSeals(tb testing.TB) {
	tb.Helper()
	for _, seal := range h.seals {
		d, err := events.Payload[events.RunSealedData](seal)
		if err != nil {
			tb.Fatal(err)
		}
		var got events.RunSealedData
		var sum cursor.Digest
		for n := uint64(1); n <= d.Last; n++ {
			data, ok := h.stored[producerKey{seal.Tenant, seal.Producer}][n]
			if !ok {
				continue
			}
			e, err := events.Decode(data)
			if err != nil {
				tb.Fatal(err)
			}
			if e.Run != seal.Run || e.Kind() == events.RunSealed {
				continue
			}
			if got.Count == 0 {
				got.First = n
			}
			got.Count++
			got.Last = n
			sum = sum.Chain(events.HashOf(data))
		}
		got.Digest = events.Hash(sum).String()
		if got.Count != d.Count || got.First != d.First || got.Last != d.Last || got.Digest != d.Digest {
			tb.Errorf("run %s: sealed %+v, has %+v", seal.Run, d, got)
		}
	}
}

func (h *history) wantGap(tb testing.TB, first, last uint64, reason string) {
	tb.Helper()
	if len(h.gaps) != 1 || h.gaps[0].First != first || h.gaps[0].Last != last || h.gaps[0].Reason != reason {
		tb.Errorf("gaps %+v, want %d–%d %s", h.gaps, first, last, reason)
	}
}

// wantEvents checks that the stream has exactly the events of [newEvent] with numbers in [from,
// to), once and in order.
func (h *history) wantEvents(tb testing.TB, from, to int) {
	tb.Helper()
	n := from
	for _, e := range h.events {
		if want := fmt.Sprintf("event-%d", n); e.ID != want {
			tb.Fatalf("got %s, want %s", e.ID, want)
		}
		n++
	}
	if n != to {
		tb.Fatalf("got %d events, want %d", n-from, to-from)
	}
}
