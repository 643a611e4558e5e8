package outbox

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/state"
	"github.com/hooktrail/hooktrail/pkg/publish/transport"
)

// maxUnexplained is how often the server may refuse a batch without a reason. After that, the
// batch itself counts as the cause.
const maxUnexplained = 3

const maxConflicts = 5

const suspendedWait = time.Second

type delivery struct {
	opts      Options
	outbox    *outbox
	link      transport.Link
	sender    transport.Sender
	backlog   *waiting
	chains    *chains
	suspended *suspensions
	collector *collector
	status    *status
}

func (d *delivery) deliverAll(ctx context.Context, groups []*group) error {
	var good, doubtful []*group
	for _, g := range groups {
		if d.suspended.isDoubtful(g.tenant) {
			doubtful = append(doubtful, g)
		} else {
			good = append(good, g)
		}
	}
	if len(good) > 0 {
		if err := d.deliver(ctx, good); err != nil && !errors.Is(err, errSuspended) {
			return err
		}
	}
	return d.deliverEach(ctx, doubtful)
}

func (d *delivery) deliverEach(ctx context.Context, groups []*group) error {
	for _, g := range groups {
		if err := d.deliver(ctx, []*group{g}); err != nil && !errors.Is(err, errSuspended) {
			return err
		}
	}
	return nil
}

func (d *delivery) deliver(ctx context.Context, groups []*group) error {
	var pause transport.Backoff
	for failures, unexplained := 1, 0; ; failures++ {
		if err := d.link.Wait(ctx); err != nil {
			return err
		}
		lost := d.link.Lost()
		err := d.attempt(ctx, groups)
		if err == nil || ctx.Err() != nil || errors.Is(err, errDiverged) {
			return err
		}
		d.failed(groups, err)
		if isClosed(lost) {
			failures = 0
		}
		result := d.judge(ctx, groups, err, &unexplained)
		if d.isBlocking(groups, result, failures) {
			return d.giveWay(ctx, groups, err)
		}
		if isDone, err := d.react(ctx, groups, result); isDone || err != nil {
			return err
		}
		pause.Pause(ctx, d.link.Lost())
	}
}

// failed does not end flushes if events of other tenants can still be sent.
func (d *delivery) failed(groups []*group, err error) {
	d.status.fail(err)
	if errors.Is(err, ErrPermission) && len(groups) == 1 && !d.outbox.hasOtherTenants(groups[0].tenant) {
		d.status.endFlushes(err)
	}
}

func (d *delivery) attempt(ctx context.Context, groups []*group) error {
	if d.suspended.isDoubtful(groups[0].tenant) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, min(d.opts.AckWait, suspendedWait))
		defer cancel()
	}
	for _, g := range groups {
		if err := d.chains.trim(ctx, g); err != nil {
			return err
		}
	}
	groups = slices.DeleteFunc(slices.Clone(groups), (*group).isEmpty)
	if len(groups) == 0 {
		return nil
	}
	var messages []transport.Message
	manifests := make([]events.Manifest, len(groups))
	ends := make([]int, len(groups)) // index of each manifest in messages
	for i, g := range groups {
		ch := d.chains.of(g.tenant)
		m := g.manifest(d.backlog.producer, ch, d.outbox.missing)
		d.opts.announce(&m, g, ch)
		if !d.opts.unsigned {
			var err error
			if m, err = d.chains.sign(m); err != nil {
				return err
			}
		}
		manifests[i] = m
		list, err := g.messages(d.outbox.space, manifests[i], ch.Fence)
		if err != nil {
			return err
		}
		messages = append(messages, list...)
		ends[i] = len(messages) - 1
		d.chains.sending(g.tenant, events.HashOf(messages[ends[i]].Data))
	}
	last, err := d.sender.Send(ctx, messages)
	if err != nil {
		return err
	}
	for i, g := range groups {
		d.chains.settled(g, manifests[i], events.HashOf(messages[ends[i]].Data).String())
		ch := d.backlog.cursor.Chain(g.tenant)
		ch.Fence, ch.Known = last-uint64(len(messages)-1-ends[i]), true
	}
	d.chains.acknowledged(ctx, groups)
	return nil
}

func (d *delivery) judge(ctx context.Context, groups []*group, err error, unexplained *int) transport.Outcome {
	result := d.sender.Outcome(err)
	if result != transport.OutcomeUnexplained || !d.isToBlame(ctx, groups) {
		return result
	}
	if *unexplained++; *unexplained < maxUnexplained {
		return result
	}
	*unexplained = 0
	return transport.OutcomeRefused
}

func (d *delivery) react(ctx context.Context, groups []*group, result transport.Outcome) (isDone bool, err error) {
	switch result {
	case transport.OutcomeStored, transport.OutcomeRetry, transport.OutcomeUnexplained:
	case transport.OutcomeUnknown:
		d.chains.invalidate(groups)
	case transport.OutcomeConflict:
		d.chains.invalidate(groups)
		if len(groups) > 1 {
			return true, d.deliverEach(ctx, groups)
		}
	case transport.OutcomeTooLarge:
		d.collector.shrink(groups)
		return d.split(ctx, groups)
	case transport.OutcomeRefused:
		return d.split(ctx, groups)
	}
	return false, nil
}

func (d *delivery) isToBlame(ctx context.Context, groups []*group) bool {
	if len(groups) > 1 || len(groups[0].entries) != 1 {
		return true
	}
	other := group{tenant: groups[0].tenant, entries: []entry{{kind: events.GapRecorded, event: []byte("{}")}}}
	if d.test(ctx, &other) != transport.OutcomeConflict {
		return false
	}
	switch d.test(ctx, groups[0]) {
	case transport.OutcomeRefused, transport.OutcomeTooLarge, transport.OutcomeUnexplained:
		return true
	case transport.OutcomeStored, transport.OutcomeRetry, transport.OutcomeUnknown, transport.OutcomeConflict:
	}
	return false
}

// test sends one event with a sequence that cannot match. If the server takes such events at all,
// it answers with a conflict and stores nothing.
func (d *delivery) test(ctx context.Context, g *group) transport.Outcome {
	list, err := g.messages(d.outbox.space, events.Manifest{Producer: d.backlog.producer}, 0)
	if err != nil {
		return transport.OutcomeUnknown
	}
	list[0].IsFenced, list[0].Fence = true, math.MaxInt64
	_, err = d.sender.Send(ctx, list[:1])
	if errors.Is(err, transport.ErrBusy) {
		return transport.OutcomeRetry
	}
	return d.sender.Outcome(err)
}

func (d *delivery) isBlocking(groups []*group, result transport.Outcome, failures int) bool {
	switch result {
	case transport.OutcomeStored, transport.OutcomeRefused, transport.OutcomeTooLarge:
		return false
	case transport.OutcomeConflict:
		return failures >= maxConflicts && len(groups) == 1 && d.outbox.hasOtherTenants(groups[0].tenant)
	case transport.OutcomeRetry, transport.OutcomeUnknown, transport.OutcomeUnexplained:
	}
	tenant := groups[0].tenant
	if d.suspended.isDoubtful(tenant) && result != transport.OutcomeUnexplained {
		return failures > 0
	}
	return failures >= maxUnexplained && (len(groups) > 1 || d.outbox.hasOtherTenants(tenant))
}

func (d *delivery) giveWay(ctx context.Context, groups []*group, cause error) error {
	d.chains.invalidate(groups)
	if len(groups) > 1 {
		return d.deliverEach(ctx, groups)
	}
	d.suspended.suspend(groups[0].tenant, cause)
	return errSuspended
}

func (d *delivery) split(ctx context.Context, groups []*group) (isDone bool, err error) {
	if len(groups) > 1 {
		return true, d.deliverEach(ctx, groups)
	}
	g := groups[0]
	switch n := len(g.entries); n {
	case 0:
		return false, nil // the server refuses the manifest itself
	case 1:
		return true, d.refuse(ctx, g)
	default:
		front := &group{tenant: g.tenant, entries: g.entries[:n/2]}
		back := &group{tenant: g.tenant, entries: g.entries[n/2:], refused: g.refused}
		if err := d.deliver(ctx, []*group{front}); err != nil {
			return true, err
		}
		return true, d.deliver(ctx, []*group{back})
	}
}

func (d *delivery) refuse(ctx context.Context, g *group) error {
	sequence := g.entries[0].sequence
	lost := events.Range{First: sequence, Last: sequence, Reason: state.ReasonRefused}
	without := &group{tenant: g.tenant, refused: &lost}
	if err := d.deliver(ctx, []*group{without}); err != nil {
		return err
	}
	if g.refused != nil {
		return d.deliver(ctx, []*group{{tenant: g.tenant, refused: g.refused}})
	}
	return nil
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
