package auditor

import (
	"context"
	"errors"
	"os"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type resumption struct {
	stream ledger.Stream    // stream of the newest ledger
	start  consume.Position // position before the first message to read
	// expected is the newest message that a ledger has. If the stream is read from its start and
	// lacks this message, the stream was replaced.
	expected consume.Position
}

// The position may be too early, because ledgers skip messages that they already have.
func resume(ctx context.Context, l *ledgers) (resumption, error) {
	found, err := l.state.load(ctx)
	if err != nil {
		return resumption{}, err
	}
	again := l.admitted.readAgain()
	r := resumption{stream: found.stream, start: found.position}
	fresh := found.stream.Epoch == 0
	if fresh {
		r.stream = l.opts.stream
	}
	have, err := l.positions(ctx, found.ledgers)
	if err != nil {
		return resumption{}, err
	}
	r.latest(have, fresh)
	if fresh {
		if len(have) > 0 {
			l.opts.Logger.InfoContext(ctx, "state not found, stream is read from its beginning", "ledgers", len(have))
		}
		r.start = consume.Position{}
		return r, nil
	}
	if again {
		l.opts.Logger.InfoContext(ctx, "refused tenants are accepted now, stream is read again")
		r.goBack(ledger.Position{})
	}
	for _, want := range found.ledgers {
		if at, ok := have[want.tenant]; ok && isBehind(at, want) {
			l.opts.Logger.WarnContext(ctx, "ledger is behind its stored position, stream is read again",
				"tenant", want.tenant, "has", at.Sequence, "should_have", want.sequence)
			r.goBack(at)
		}
	}
	return r, nil
}

func (r *resumption) latest(have map[string]ledger.Position, fresh bool) {
	for _, at := range have {
		if at.Epoch > r.stream.Epoch { // the state was deleted, or another auditor ran later
			r.stream = ledger.Stream{Epoch: at.Epoch, Created: at.Stream}
		}
	}
	for _, at := range have {
		if fresh && at.Epoch == r.stream.Epoch && at.Sequence > r.expected.Sequence && at.Hash != (events.Hash{}) {
			r.expected = consume.Position{Sequence: at.Sequence, Stream: at.Stream, Hash: at.Hash}
		}
	}
}

func isBehind(have ledger.Position, want ledgerPosition) bool {
	return have.Epoch < want.epoch || have.Epoch == want.epoch && have.Sequence < want.sequence
}

func (r *resumption) goBack(have ledger.Position) {
	back := consume.Position{}
	if have.Epoch == r.stream.Epoch {
		back = consume.Position{Sequence: have.Sequence, Stream: have.Stream, Hash: have.Hash}
	}
	if back.Sequence < r.start.Sequence {
		r.start = back
	}
}

// A deleted ledger has position zero, so that its messages are read again.
func (l *ledgers) positions(ctx context.Context, known []ledgerPosition) (map[string]ledger.Position, error) {
	tenants := l.tenants(ctx)
	for _, k := range known {
		tenants = append(tenants, k.tenant)
	}
	all := make(map[string]ledger.Position, len(tenants))
	for _, tenant := range tenants {
		if _, ok := all[tenant]; ok {
			continue
		}
		at, err := newestPosition(ctx, l.opts, tenant)
		switch {
		case errors.Is(err, ledger.ErrDamaged):
			l.suspend(ctx, tenant, err)
		case err != nil:
			return nil, err
		default:
			all[tenant] = at
		}
	}
	return all, nil
}

func newestPosition(ctx context.Context, o Options, tenant string) (ledger.Position, error) {
	r, err := ledger.OpenTenant(LedgerDir(o.DataDir), tenant)
	if errors.Is(err, os.ErrNotExist) {
		return ledger.Position{}, nil
	}
	if err != nil {
		return ledger.Position{}, err
	}
	c, err := r.Newest(ctx)
	return c.Position, errors.Join(err, r.Close())
}
