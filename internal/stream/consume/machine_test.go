package consume_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"
	"pgregory.net/rapid"

	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/internal/testkit/race"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// machine applies random operations to a stream and its reader, and compares the projection with
// the expected one.
type machine struct {
	js      jetstream.JetStream
	stream  jetstream.Stream
	space   subjects.Space
	tenant  string // tenant of the reader; empty for all
	p       *memory
	stored  []string // data by sequence-1; "" if deleted
	applied []uint64 // expected state of the projection
}

func (m *machine) publish(t *rapid.T) {
	tenant := rapid.SampledFrom([]string{"acme", "other"}).Draw(t, "tenant")
	subject, err := m.space.Event(tenant, "p1", "r1", "run.started")
	if err != nil {
		t.Fatal(err)
	}
	for range rapid.IntRange(1, 8).Draw(t, "messages") {
		data := fmt.Sprintf("%s %d", tenant, len(m.stored)+1)
		if _, err := m.js.Publish(context.Background(), subject, []byte(data)); err != nil {
			t.Fatal(err)
		}
		m.stored = append(m.stored, data)
	}
}

func (m *machine) remove(t *rapid.T) {
	if len(m.stored) == 0 {
		t.Skip("nothing stored")
	}
	i := rapid.IntRange(0, len(m.stored)-1).Draw(t, "message")
	if m.stored[i] == "" {
		t.Skip("deleted before")
	}
	if err := m.stream.DeleteMsg(context.Background(), uint64(i+1)); err != nil {
		t.Fatal(err)
	}
	m.stored[i] = ""
}

// read runs several calls of Apply. Each can fail before or after its commit.
func (m *machine) read(t *rapid.T) {
	fates := rapid.SliceOfN(rapid.SampledFrom([]string{"ok", "ok", "fails", "fails after commit"}), 1, 4).Draw(t, "fates")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	m.p.calls = 0
	m.p.fail = func(call int, _ []consume.Message) (bool, error) {
		if call >= len(fates) {
			cancel()
			return true, nil
		}
		switch fates[call-1] {
		case "fails":
			return false, errors.New("no")
		case "fails after commit":
			return true, errors.New("no answer")
		}
		return true, nil
	}
	opts := m.options(rapid.IntRange(1, 5).Draw(t, "batch"))
	opts.Drain = true
	if err := consume.Run(ctx, m.js, opts, m.p); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	m.applied = m.p.applied()
}

func (m *machine) options(batch int) consume.Options {
	return consume.Options{Durable: "test", Space: m.space, Tenant: m.tenant, Batch: batch, RetryMax: time.Millisecond}
}

// steal takes deliveries of the durable, like a killed process.
func (m *machine) steal(t *rapid.T) {
	durable, err := m.space.Durable("test", m.tenant)
	if err != nil {
		t.Fatal(err)
	}
	c, err := m.js.Consumer(context.Background(), m.space.EventStream(), durable)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		t.Skip("not read before")
	}
	if err != nil {
		t.Fatal(err)
	}
	batch, err := c.FetchNoWait(rapid.IntRange(1, 5).Draw(t, "messages"))
	if err != nil {
		t.Fatal(err)
	}
	for msg := range batch.Messages() {
		if rapid.Bool().Draw(t, "ack") {
			_ = msg.Ack()
		}
	}
}

func (m *machine) restore(t *rapid.T) {
	if len(m.p.seqs) == 0 {
		t.Skip("nothing applied")
	}
	n := rapid.IntRange(0, len(m.p.seqs)-1).Draw(t, "messages")
	m.p.seqs, m.p.data = m.p.seqs[:n], m.p.data[:n]
	m.applied = m.p.applied()
	if n == 0 {
		m.p.pos = consume.Position{}
		return
	}
	m.p.pos.Sequence, m.p.pos.Hash = m.p.seqs[n-1], events.HashOf([]byte(m.p.data[n-1]))
}

func (m *machine) drain(t *rapid.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	m.p.fail = nil
	opts := m.options(3)
	opts.Drain = true
	before := m.applied
	if err := consume.Run(ctx, m.js, opts, m.p); err != nil {
		t.Fatal(err)
	}
	// Applied messages stay in the projection, even if they were deleted. All existing messages
	// come after them.
	var last uint64
	if n := len(before); n > 0 {
		last = before[n-1]
	}
	want := slices.Clone(before)
	for i := last; i < uint64(len(m.stored)); i++ {
		if m.mine(m.stored[i]) {
			want = append(want, i+1)
		}
	}
	m.applied = m.p.applied()
	if diff := cmp.Diff(want, m.applied); diff != "" {
		t.Fatalf("applied (-want +got):\n%s", diff)
	}
}

func (m *machine) mine(data string) bool {
	var tenant string
	_, err := fmt.Sscan(data, &tenant)
	return err == nil && (m.tenant == "" || m.tenant == tenant)
}

//guarantee:consumer-killed
func TestRun_AnythingMayHappen(t *testing.T) {
	race.Draw(t, 40, 15)
	for _, tenant := range []string{"", "acme"} {
		t.Run("tenant="+tenant, func(t *testing.T) {
			// Reuse the streams. The server removes the folder of a deleted stream late, when the
			// next stream may use it already.
			js := natstest.Start(t, natstest.Options{NoSync: true}).JetStream(t)
			n := 0
			rapid.Check(t, func(t *rapid.T) {
				n++
				m := &machine{js: js, tenant: tenant, p: newMemory()}
				m.space = subjects.Space{Prefix: fmt.Sprintf("s%d.", n), StreamPrefix: fmt.Sprintf("S%d_", n)}
				_, err := broker.EnsureStreams(context.Background(), js, m.space,
					broker.StreamOptions{MaxBytes: 1 << 20, AllowTamper: true})
				if err == nil {
					m.stream, err = js.Stream(context.Background(), m.space.EventStream())
				}
				if err != nil {
					t.Fatal(err)
				}
				t.Repeat(map[string]func(*rapid.T){
					"publish": m.publish, "remove": m.remove, "read": m.read,
					"steal": m.steal, "restore": m.restore, "drain": m.drain,
				})
				m.drain(t)
				for _, name := range []string{m.space.EventStream(), m.space.DeadLetterStream(), m.space.AdvisoryStream(), m.space.CheckpointStream()} {
					if err := js.DeleteStream(context.Background(), name); err != nil {
						t.Fatal(err)
					}
				}
			})
		})
	}
}
