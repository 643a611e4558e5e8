package publish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// errDiverged says that the stream holds, under our producer id, what our
// outbox does not: the outbox was rolled back, or copied and used elsewhere.
var errDiverged = errors.New("the stream has other events under this producer id")

// settle brings what is known of a tenant's chain up to date with the stream:
// batches that were stored and whose answer was lost are settled, and the fence
// is that of the last manifest.
func (f *forwarder) settle(ctx context.Context, tenant string) error {
	subject, err := f.outbox.space.Chain(tenant, f.producer)
	if err != nil {
		return err
	}
	raw, sequence, err := f.lastMessage(ctx, subject)
	if err != nil {
		return fmt.Errorf("last manifest: %w", err)
	}
	f.cursor.mu.Lock()
	defer f.cursor.mu.Unlock()
	ch := f.cursor.chain(tenant)
	if raw == nil {
		// Nothing was sent yet, or the stream keeps it no longer.
		ch.Fence, ch.known = 0, true
		return nil
	}
	m, err := events.DecodeManifest(raw)
	hash := events.HashOf(raw).String()
	switch {
	case err != nil || m.Tenant != tenant || m.Producer != f.producer:
		return errDiverged
	case m.Last == ch.Last && hash != ch.Prev:
		return errDiverged
	case m.Last > ch.Last:
		if err := f.catchUp(ch, m, hash); err != nil {
			return err
		}
		f.acknowledged(ctx, []*group{{tenant: tenant}})
	}
	ch.Fence, ch.known = sequence, true
	return nil
}

// catchUp settles the events up to m, which the stream holds, if our outbox has
// the same. f.cursor.mu is held.
func (f *forwarder) catchUp(ch *chain, m events.Manifest, hash string) error {
	g := group{tenant: m.Tenant}
	var listed []events.Hash
	last := ch.Last
	err := f.eachWaiting(func(it item) {
		// What was carried is there twice.
		if it.tenant != m.Tenant || it.sequence <= last || it.sequence > m.Last || lacks(m, it.sequence) {
			return
		}
		last = it.sequence
		r := newEntry(it)
		g.entries = append(g.entries, r)
		if it.sequence >= m.First {
			listed = append(listed, r.hash)
		}
	})
	if err != nil {
		return err
	}
	if uint64(len(listed)) != m.Count || events.BatchRoot(listed).String() != m.Root {
		return errDiverged
	}
	f.settled(&g, m, hash)
	return nil
}

// eachWaiting calls visit for each record of the outbox that waits.
func (f *forwarder) eachWaiting(visit func(item)) error {
	rd := f.outbox.currentSpool().reader(f.cursor.next)
	defer rd.close()
	for {
		it, err := rd.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if it.fault == intact && it.ordinal >= f.cursor.next {
			visit(it)
		}
	}
}

// lastMessage returns the last message on subject, nil if there is none, and
// its sequence in the stream.
func (f *forwarder) lastMessage(ctx context.Context, subject string) ([]byte, uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, f.opts.AckWait)
	defer cancel()
	msg, err := request(ctx, f.nc, "$JS.API.DIRECT.GET."+f.outbox.space.EventStream()+"."+subject)
	if err != nil {
		return nil, 0, err
	}
	switch status := msg.Header.Get("Status"); status {
	case "":
	case "404":
		return nil, 0, nil
	default:
		return nil, 0, fmt.Errorf("status %s %s", status, msg.Header.Get("Description"))
	}
	sequence, err := strconv.ParseUint(msg.Header.Get(nats.JSSequence), 10, 64)
	if err != nil || msg.Header.Get(nats.JSSubject) != subject {
		return nil, 0, errors.New("answer is of another message")
	}
	return msg.Data, sequence, nil
}
