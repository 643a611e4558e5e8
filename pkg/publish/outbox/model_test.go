package outbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"pgregory.net/rapid"

	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/atomicbatch"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/segment"
)

// outboxModel runs an outbox through random sequences of appends, exits, power cuts, restored
// copies and connection states.
type outboxModel struct {
	t     *testing.T
	opts  Options
	up    *nats.Conn
	down  *nats.Conn
	p     *Publisher
	boot  int
	n     int
	taken map[string]bool // ids for which Append returned
	dir   string          // of a copy of the outbox
}

func (m *outboxModel) open(rt *rapid.T, nc *nats.Conn) {
	p, err := Open(m.t.Context(), atomicbatch.Over(nc), m.opts)
	if err != nil {
		rt.Fatal(err)
	}
	m.p = p
}

func (m *outboxModel) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"append": func(rt *rapid.T) {
			for range rapid.IntRange(1, 12).Draw(rt, "events") {
				e := newEvent(m.n)
				e.Tenant = rapid.SampledFrom([]string{"acme", "acme", "acme", "globex", "initech"}).Draw(rt, "tenant")
				if rapid.IntRange(0, 9).Draw(rt, "ends") == 0 {
					e = finish(m.n, "run-1")
				}
				m.n++
				if _, err := m.p.Append(m.t.Context(), e); err != nil {
					rt.Fatal(err)
				}
				m.taken[e.ID] = true
			}
		},
		"flush": func(rt *rapid.T) {
			ctx, cancel := context.WithTimeout(m.t.Context(), testTimeout)
			defer cancel()
			if m.p.fwd.chains.server == atomicbatch.Over(m.down) {
				return
			}
			if err := m.p.Flush(ctx); err != nil {
				rt.Fatal(err)
			}
		},
		"killOnline":   func(rt *rapid.T) { kill(m.p); m.open(rt, m.up) },
		"killOffline":  func(rt *rapid.T) { kill(m.p); m.open(rt, m.down) },
		"closeOffline": func(rt *rapid.T) { m.close(rt); m.open(rt, m.down) },
		"powerCut":     func(rt *rapid.T) { kill(m.p); m.boot++; m.open(rt, m.up) },
		"tear": func(rt *rapid.T) {
			kill(m.p)
			if list := segments(m.t, m.opts.Dir); len(list) > 0 {
				f, err := os.OpenFile(list[len(list)-1], os.O_WRONLY|os.O_APPEND, 0)
				if err != nil {
					rt.Fatal(err)
				}
				torn := segment.Append(nil, &segment.Record{Ordinal: 1, Sequence: 1, Tenant: "acme", Event: []byte(`{"id":"event-0"}`)})
				_, err = f.Write(torn[:rapid.IntRange(1, len(torn)-1).Draw(rt, "bytes")])
				if err = errors.Join(err, f.Close()); err != nil {
					rt.Fatal(err)
				}
			}
			m.open(rt, m.up)
		},
		"copy": func(rt *rapid.T) {
			kill(m.p)
			m.dir = copyDir(m.t, m.opts.Dir)
			m.open(rt, m.down)
		},
		"rollBack": func(rt *rapid.T) {
			if m.dir == "" {
				return
			}
			// Flush first; events that only the abandoned outbox has would be lost.
			ctx, cancel := context.WithTimeout(m.t.Context(), testTimeout)
			defer cancel()
			kill(m.p)
			m.open(rt, m.up)
			if err := m.p.Flush(ctx); err != nil {
				rt.Fatal(err)
			}
			kill(m.p)
			m.opts.Dir, m.dir = m.dir, ""
			m.open(rt, m.up)
		},
	}
}

func (m *outboxModel) close(rt *rapid.T) {
	ctx, cancel := context.WithTimeout(m.t.Context(), time.Millisecond)
	defer cancel()
	if err := m.p.Close(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		rt.Fatal(err)
	}
}

func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		srv := natstest.Start(t)
		m := &outboxModel{t: t, opts: testOptions(t, t.TempDir()), up: srv.Connect(t), down: offline(t), taken: map[string]bool{}}
		m.opts.Tenant, m.opts.BatchEvents, m.opts.SegmentBytes = "", 7, 3000
		m.opts.bootID = func() string { return fmt.Sprint(m.boot) }
		m.opts.Logger = nil
		m.open(rt, m.up)
		defer func() { kill(m.p) }()
		rt.Repeat(m.actions())
		kill(m.p)
		m.open(rt, m.up)
		ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
		defer cancel()
		if err := m.p.Close(ctx); err != nil {
			rt.Fatal(err)
		}
		h := checkStream(rtTB{t, rt}, srv)
		seen := map[string]int{}
		for _, e := range h.events {
			seen[e.ID]++
		}
		for id := range m.taken {
			if seen[id] == 0 {
				rt.Errorf("%s is lost", id)
			}
		}
		if len(seen) != len(m.taken) {
			rt.Errorf("%d events, want %d", len(seen), len(m.taken))
		}
		srv.Stop()
	})
}

// rtTB reports failures to rapid, which then looks for a shorter example.
type rtTB struct {
	testing.TB

	rt *rapid.T
}

func (t rtTB) Errorf(format string, args ...any) { t.rt.Errorf(format, args...) }
func (t rtTB) Fatalf(format string, args ...any) { t.rt.Fatalf(format, args...) }
func (t rtTB) Fatal(args ...any)                 { t.rt.Fatal(args...) }
