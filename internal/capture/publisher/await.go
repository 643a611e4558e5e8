package publisher

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

// Sent contains the tenants of the events that an import has sent. Producer is the id of the outbox
// that sent them.
type Sent struct {
	Producer string
	Tenants  []string
}

// Audited states whether the auditor has recorded all events that an import has sent.
type Audited string

// The states after [AwaitAuditor].
const (
	AuditedAll     Audited = "all"
	AuditedBehind  Audited = "behind"  // the timeout came first
	AuditedNone    Audited = "none"    // no auditor reads the stream
	AuditedUnknown Audited = "unknown" // the state of the auditor could not be read
	AuditedSkipped Audited = "skipped" // the wait was not requested
)

const (
	awaitPoll    = 25 * time.Millisecond
	awaitRequest = 2 * time.Second
	// awaitRestart is longer than a restart of an auditor takes. An auditor that requests no
	// messages for this time is not running.
	awaitRestart = 2 * time.Second
	// awaitCommit is how long an auditor may show no progress, because it can need that long to
	// commit a large batch.
	awaitCommit = 20 * time.Second
)

// AwaitOptions configure [AwaitAuditor].
type AwaitOptions struct {
	Broker   *broker.Broker
	Sent     Sent
	Timeout  time.Duration
	Progress func(done, total uint64) // in stream sequences; may be nil
}

// AwaitAuditor waits until the ledger contains all events in o.Sent, at most o.Timeout. If it
// returns [AuditedUnknown], the error says why.
func AwaitAuditor(ctx context.Context, o AwaitOptions) (Audited, error) {
	if o.Progress == nil {
		o.Progress = func(uint64, uint64) {}
	}
	deadline := time.Now().Add(o.Timeout)
	worst := AuditedAll
	for _, tenant := range o.Sent.Tenants {
		w := wait{AwaitOptions: o, tenant: tenant, deadline: deadline}
		state, err := w.run(ctx)
		if err != nil {
			return AuditedUnknown, fmt.Errorf("wait for the auditor: %w", err)
		}
		if state == AuditedBehind || worst == AuditedAll {
			worst = state
		}
	}
	return worst, nil
}

type wait struct {
	AwaitOptions

	tenant   string
	deadline time.Time
	target   uint64 // sequence of the last manifest

	delivered, acked uint64 // latest values of the auditor's consumer
	since            time.Time
}

func (w *wait) run(ctx context.Context) (Audited, error) {
	js, space := w.Broker.JetStream(), w.Broker.Space()
	chain, err := space.Chain(w.tenant, w.Sent.Producer)
	if err != nil {
		return AuditedUnknown, err
	}
	if w.target, err = lastOn(ctx, js, space.EventStream(), chain); err != nil || w.target == 0 {
		return AuditedAll, err
	}
	w.since = time.Now()
	tick := time.NewTicker(awaitPoll)
	defer tick.Stop()
	for {
		info, err := w.auditor(ctx, js, space)
		if err != nil {
			return AuditedUnknown, err
		}
		switch {
		case w.reached(info):
			return AuditedAll, nil
		case w.isGone(info):
			return AuditedNone, nil
		case time.Now().After(w.deadline):
			return AuditedBehind, nil
		}
		select {
		case <-ctx.Done():
			return AuditedUnknown, ctx.Err()
		case <-tick.C:
		}
	}
}

func lastOn(ctx context.Context, js jetstream.JetStream, name, subject string) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, awaitRequest)
	defer cancel()
	stream, err := js.Stream(ctx, name)
	if err != nil {
		return 0, fmt.Errorf("stream %s: %w", name, err)
	}
	msg, err := stream.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("last manifest: %w", err)
	}
	return msg.Sequence, nil
}

func (w *wait) auditor(ctx context.Context, js jetstream.JetStream, space subjects.Space) (best *jetstream.ConsumerInfo, err error) {
	for _, tenant := range []string{"", w.tenant} {
		name, err := space.Durable(string(subjects.AuditorRole), tenant)
		if err != nil {
			return nil, err
		}
		info, err := consumerOf(ctx, js, space.EventStream(), name)
		if err != nil {
			return nil, err
		}
		if info != nil && (best == nil || isBetter(info, best)) {
			best = info
		}
	}
	return best, nil
}

func isBetter(a, b *jetstream.ConsumerInfo) bool {
	if reads := a.NumWaiting > 0; reads != (b.NumWaiting > 0) {
		return reads
	}
	return a.AckFloor.Stream > b.AckFloor.Stream
}

func consumerOf(ctx context.Context, js jetstream.JetStream, stream, name string) (*jetstream.ConsumerInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, awaitRequest)
	defer cancel()
	consumer, err := js.Consumer(ctx, stream, name)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("consumer %s: %w", name, err)
	}
	return consumer.CachedInfo(), nil
}

func (w *wait) reached(info *jetstream.ConsumerInfo) bool {
	if info == nil {
		return false
	}
	w.Progress(min(info.AckFloor.Stream, w.target), w.target)
	return info.AckFloor.Stream >= w.target
}

func (w *wait) isGone(info *jetstream.ConsumerInfo) bool {
	if info == nil {
		return true
	}
	if info.NumWaiting > 0 || info.Delivered.Consumer != w.delivered || info.AckFloor.Stream != w.acked {
		w.since = time.Now()
	}
	w.delivered, w.acked = info.Delivered.Consumer, info.AckFloor.Stream
	limit := awaitRestart
	switch own := w.Broker.Embedded(); { // with an embedded broker, no auditor can run before this process
	case own && info.NumAckPending == 0:
		limit = 0
	case !own && info.NumAckPending > 0:
		limit = awaitCommit
	}
	return info.NumWaiting == 0 && time.Since(w.since) > limit
}
