package bundle

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
)

var began = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

type feed struct {
	messages []ledger.Message
	now      time.Time
	senders  map[string]*sender
}

type sender struct {
	sequence, first uint64
	pending         []events.Hash
	prev            string
	runs            map[string]*events.RunSealedData
	digests         map[string][32]byte
}

func newFeed() *feed { return &feed{now: began, senders: make(map[string]*sender)} }

func (f *feed) sender(producer string) *sender {
	s, ok := f.senders[producer]
	if !ok {
		s = &sender{first: 1, runs: make(map[string]*events.RunSealedData), digests: make(map[string][32]byte)}
		f.senders[producer] = s
	}
	return s
}

func (f *feed) add(a subjects.Address, data []byte) {
	a.Tenant = "acme"
	f.now = f.now.Add(time.Millisecond)
	f.messages = append(f.messages, ledger.Message{
		Sequence: uint64(len(f.messages) + 1), Address: a, Data: data, Stored: f.now,
	})
}

func (f *feed) publish(producer, run string, kind events.Kind, id string, payload any) events.Event {
	e, err := events.New(kind, "/test", payload)
	if err != nil {
		panic(err)
	}
	s := f.sender(producer)
	s.sequence++
	if id == "" {
		id = events.DeriveID(producer, run, fmt.Sprint(s.sequence))
	}
	f.now = f.now.Add(time.Second)
	e.ID, e.Run, e.Subject, e.Time, e.Salt = id, run, run, f.now, "c2FsdHNhbHRzYWx0c2FsdA"
	e.Tenant, e.Producer, e.Sequence = "acme", producer, s.sequence
	data := e.Encode()
	h := events.HashOf(data)
	s.pending = append(s.pending, h)
	if kind != events.RunSealed {
		r, ok := s.runs[run]
		if !ok {
			r = &events.RunSealedData{First: s.sequence}
			s.runs[run] = r
		}
		r.Count, r.Last = r.Count+1, s.sequence
		d := s.digests[run]
		s.digests[run] = sha256.Sum256(append(d[:], h[:]...))
	}
	f.add(subjects.Address{Producer: producer, Run: run, Kind: kind}, data)
	return e
}

func (f *feed) seal(producer, run string) {
	s := f.sender(producer)
	d, digest := *s.runs[run], s.digests[run]
	d.Digest = hex.EncodeToString(digest[:])
	f.publish(producer, run, events.RunSealed, d.ID("acme", producer, run), d)
	f.manifest(producer)
}

func (f *feed) manifest(producer string) {
	s := f.sender(producer)
	m := events.Manifest{
		Version: 1, Tenant: "acme", Producer: producer, First: s.first, Last: s.sequence,
		Count: uint64(len(s.pending)), Prev: s.prev, Root: events.BatchRoot(s.pending).String(),
	}
	data := m.Encode()
	s.first, s.pending, s.prev = s.sequence+1, nil, events.HashOf(data).String()
	f.add(subjects.Address{Producer: producer, Manifest: true}, data)
}

func (f *feed) run(producer, run string, n int, texts ...string) {
	f.publish(producer, run, events.RunStarted, "", events.RunStartedData{Title: "a run"})
	for i := range n {
		text := fmt.Sprintf("message %d", i)
		if i < len(texts) {
			text = texts[i]
		}
		f.publish(producer, run, events.Custom, "", map[string]string{"text": text})
	}
	f.publish(producer, run, events.RunFinished, "", events.RunFinishedData{Success: true})
	f.seal(producer, run)
}

type evidence struct {
	reader *ledger.Reader
	key    note.Verifier
	public string
	path   string
	signer note.Signer
	old    note.Signer // the replaced key, if there is one
}

func (f *feed) write(tb testing.TB) evidence {
	tb.Helper()
	return f.writeWith(tb, filepath.Join(tb.TempDir(), "keys"))
}

func (f *feed) writeWith(tb testing.TB, keys string) evidence {
	tb.Helper()
	key, err := writer.OpenKey(keys)
	if err != nil {
		tb.Fatal(err)
	}
	dir := tb.TempDir()
	clock := func() time.Time { return f.now.Add(time.Second) }
	l, err := writer.Open(tb.Context(), dir, "acme", writer.Options{Key: key, Now: clock})
	if err != nil {
		tb.Fatal(err)
	}
	stream := ledger.Stream{Epoch: 1, Created: began.Add(-time.Hour)}
	for rest := f.messages; len(rest) > 0; rest = rest[min(1000, len(rest)):] {
		if _, err := l.Append(tb.Context(), stream, rest[:min(1000, len(rest))]); err != nil {
			tb.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		tb.Fatal(err)
	}
	r, err := ledger.OpenTenant(dir, "acme")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := r.Close(); err != nil {
			tb.Error(err)
		}
	})
	verifier, _, err := ledger.ParseVerifier(key.Public())
	if err != nil {
		tb.Fatal(err)
	}
	path, err := ledger.Path(dir, "acme")
	if err != nil {
		tb.Fatal(err)
	}
	return evidence{reader: r, key: verifier, public: key.Public(), path: path, signer: key.Signer()}
}

func (e evidence) bundle(tb testing.TB, s ledger.Selection) string {
	tb.Helper()
	return e.export(tb, Options{Selection: s, Key: e.public, Signer: e.signer})
}

func (e evidence) export(tb testing.TB, opts Options) string {
	tb.Helper()
	var out bytes.Buffer
	if err := WriteBundle(tb.Context(), &out, e.reader, opts); err != nil {
		tb.Fatal(err)
	}
	return save(tb, out.Bytes())
}

func save(tb testing.TB, data []byte) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "bundle.zip")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

func check(tb testing.TB, path string, opts CheckOptions) Report {
	tb.Helper()
	r, err := Check(context.Background(), path, opts)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}
