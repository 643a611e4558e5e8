package publish

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// patience is how often the server may refuse a batch without a reason before
// that is taken for the batch's fault.
const patience = 3

// deliver returns when each event of groups is in the stream, or listed there
// as missing because the stream refuses it. It tries until ctx ends, and returns
// errHeld for a single tenant whose events others should not wait for.
func (f *forwarder) deliver(ctx context.Context, groups []*group) error {
	var pause backoff
	for failures, obscure := 1, 0; ; failures++ {
		if err := f.link.wait(ctx); err != nil {
			return err
		}
		down := f.link.down()
		err := f.attempt(ctx, groups)
		if err == nil || ctx.Err() != nil || errors.Is(err, errDiverged) {
			return err
		}
		f.note(err)
		if isClosed(down) {
			failures = 0
		}
		what := outcomeOf(err)
		if what == outcomeObscure && f.isToBlame(ctx, groups) {
			obscure++
			what = blame(&obscure)
		}
		if f.blocks(groups, what, failures) {
			return f.stepAside(ctx, groups, err)
		}
		if done, err := f.react(ctx, groups, what); done || err != nil {
			return err
		}
		pause.pause(ctx, f.link.down())
	}
}

// blame returns what becomes of a batch that was to blame so often.
func blame(obscure *int) outcome {
	if *obscure < patience {
		return outcomeObscure
	}
	*obscure = 0
	return outcomeRefused
}

// react does what the outcome of an attempt asks for. It is done when that has
// delivered everything; else the batch is to be tried again.
func (f *forwarder) react(ctx context.Context, groups []*group, what outcome) (done bool, err error) {
	switch what {
	case outcomeStored, outcomeWait, outcomeObscure:
	case outcomeLookUp:
		f.unsettle(groups)
	case outcomeConflict:
		f.unsettle(groups)
		if len(groups) > 1 {
			return true, f.deliverAlone(ctx, groups)
		}
	case outcomeTooLarge:
		f.takeSmaller(groups)
		return f.split(ctx, groups)
	case outcomeRefused:
		return f.split(ctx, groups)
	}
	return false, nil
}

// isToBlame tells whether a batch of groups can be the reason of an answer that
// gives none: if it has parts they tell; else, if the server now takes other
// events of that tenant. It is asked with a batch that fails at its fence.
func (f *forwarder) isToBlame(ctx context.Context, groups []*group) bool {
	if len(groups) > 1 || len(groups[0].entries) != 1 {
		return true
	}
	g := group{tenant: groups[0].tenant, entries: []entry{{kind: events.GapRecorded, event: []byte("{}")}}}
	list, err := f.messages(&g, events.Manifest{}, math.MaxInt64)
	if err != nil {
		return false
	}
	_, err = f.batcher.send(ctx, list)
	return outcomeOf(err) == outcomeConflict
}

// attempt sends what of groups is not settled as one batch.
func (f *forwarder) attempt(ctx context.Context, groups []*group) error {
	if f.held[groups[0].tenant] != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, min(f.opts.AckWait, heldWait))
		defer cancel()
	}
	for _, g := range groups {
		if err := f.trim(ctx, g); err != nil {
			return err
		}
	}
	groups = slices.DeleteFunc(slices.Clone(groups), (*group).empty)
	if len(groups) == 0 {
		return nil
	}
	var batch []message
	manifests := make([]events.Manifest, len(groups))
	ends := make([]int, len(groups)) // index of each manifest
	for i, g := range groups {
		ch := f.chainOf(g.tenant)
		manifests[i] = f.manifest(g, &ch)
		list, err := f.messages(g, manifests[i], ch.Fence)
		if err != nil {
			return err
		}
		batch = append(batch, list...)
		ends[i] = len(batch) - 1
	}
	last, err := f.batcher.send(ctx, batch)
	if err != nil {
		return err
	}
	f.cursor.mu.Lock()
	defer f.cursor.mu.Unlock()
	for i, g := range groups {
		f.settled(g, manifests[i], events.HashOf(batch[ends[i]].data).String())
		ch := f.cursor.chain(g.tenant)
		ch.Fence, ch.known = last-uint64(len(batch)-1-ends[i]), true
	}
	f.acknowledged(ctx, groups)
	return nil
}

// trim makes sure that the end of the group's chain is known, and drops from
// the group what is settled.
func (f *forwarder) trim(ctx context.Context, g *group) error {
	ch := f.chainOf(g.tenant)
	if !ch.known {
		if err := f.settle(ctx, g.tenant); err != nil {
			return fmt.Errorf("look up chain: %w", err)
		}
		ch = f.chainOf(g.tenant)
	}
	g.trim(ch.Last)
	return nil
}

// unsettle makes the next attempt look up the chains.
func (f *forwarder) unsettle(groups []*group) {
	f.cursor.mu.Lock()
	defer f.cursor.mu.Unlock()
	for _, g := range groups {
		f.cursor.chain(g.tenant).known = false
	}
}

func (f *forwarder) deliverAlone(ctx context.Context, groups []*group) error {
	for _, g := range groups {
		if err := f.deliver(ctx, []*group{g}); err != nil && !errors.Is(err, errHeld) {
			return err
		}
	}
	return nil
}

// split delivers a refused batch in parts, down to the one event that the
// stream does not take. It is done when everything is delivered; a batch that
// has no parts is to be tried again.
func (f *forwarder) split(ctx context.Context, groups []*group) (done bool, err error) {
	if len(groups) > 1 {
		return true, f.deliverAlone(ctx, groups)
	}
	g := groups[0]
	switch n := len(g.entries); n {
	case 0:
		return false, nil // a manifest alone is refused: no event is to blame
	case 1:
		return true, f.refuse(ctx, g)
	default:
		front := &group{tenant: g.tenant, entries: g.entries[:n/2]}
		back := &group{tenant: g.tenant, entries: g.entries[n/2:], refused: g.refused}
		if err := f.deliver(ctx, []*group{front}); err != nil {
			return true, err
		}
		return true, f.deliver(ctx, []*group{back})
	}
}

// refuse gives up the one event of g. That a manifest which lists it as missing
// passes where the event does not is the proof that the event is to blame.
func (f *forwarder) refuse(ctx context.Context, g *group) error {
	sequence := g.entries[0].sequence
	lost := events.Range{First: sequence, Last: sequence, Reason: reasonRefused}
	without := &group{tenant: g.tenant, refused: &lost}
	if err := f.deliver(ctx, []*group{without}); err != nil {
		return err
	}
	if g.refused != nil {
		return f.deliver(ctx, []*group{{tenant: g.tenant, refused: g.refused}})
	}
	return nil
}

// takeSmaller makes the next batches half as large as one that the server would
// not take.
func (f *forwarder) takeSmaller(groups []*group) {
	n := 0
	for _, g := range groups {
		n += len(g.entries)
	}
	f.most = max(min(f.most, n)/2, 1)
}
