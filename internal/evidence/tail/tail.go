package tail

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// replacedFor is how long the last event must be missing before a Tail concludes that the file was
// replaced. During a rebuild, a reader can briefly see an old file without its log.
const replacedFor = 2 * time.Second

// A Tail converts new records of a ledger to lines for the command "run tail". It is not safe for
// concurrent use.
type Tail struct {
	ledger *ledger.Reader
	filter Filter
	memory *memory

	run      string          // only this run and its sub-agents, or empty
	member   map[string]bool // ids of these runs
	finished bool
	sealed   bool
	altered  int

	start   int64     // first leaf that [Tail.Next] yields
	at      position  // of the last record
	event   position  // of the last event
	missing time.Time // when the last event was first missed, or zero
	floor   time.Time // records that were stored until then were yielded before the file was replaced
}

// position identifies a record.
type position struct {
	leaf   int64
	hash   events.Hash
	id     string
	stored time.Time
}

// Open returns a tail that starts after the newest checkpoint of the ledger. If run is not empty,
// the tail yields only lines of this run and of its sub-agents.
func Open(ctx context.Context, r *ledger.Reader, run string, f Filter) (*Tail, error) {
	newest, err := r.Newest(ctx)
	if err != nil {
		return nil, err
	}
	t := &Tail{ledger: r, filter: f, memory: newMemory(r), run: run, member: map[string]bool{run: true}, start: newest.Size}
	return t, t.startAt(ctx, newest.Size)
}

const lookBack = 256

func (t *Tail) startAt(ctx context.Context, next int64) error {
	t.at, t.event = position{leaf: -1}, position{leaf: -1}
	for e, err := range t.ledger.After(ctx, next-lookBack-1) {
		if err != nil && !isAltered(err) {
			return err
		}
		if e.Leaf >= next {
			break
		}
		t.passed(e)
	}
	return nil
}

// FromStart makes [Tail.Next] start with the first record of the ledger. Call it if the ledger did
// not exist when the caller began to wait for it.
func (t *Tail) FromStart() {
	t.start, t.at, t.event = 0, position{leaf: -1}, position{leaf: -1}
}

// Ended reports whether the run has a run.finished event, and whether a seal followed that event.
// New events can still arrive after both.
func (t *Tail) Ended() (finished, sealed bool) { return t.finished, t.sealed }

// Altered returns the number of lines whose records were changed after they had been signed.
func (t *Tail) Altered() int { return t.altered }

// Next yields the lines of the records that the ledger has received since the last call. It
// returns at the end of the ledger, or after it has yielded an error without a line.
//
// An error that wraps [fs.ErrNotExist] means that a rebuild is replacing the file. After this
// error, and after a [ReplacedError], the caller should call Next again.
func (t *Tail) Next(ctx context.Context) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		ok, err := t.resume(ctx)
		if err != nil {
			yield(Line{}, err)
		}
		if !ok || err != nil {
			return
		}
		for r, err := range t.read(ctx, t.ledger.After(ctx, t.at.leaf)) {
			if err != nil {
				yield(Line{}, err)
				return
			}
			known := !r.entry.Stored.After(t.floor)
			t.passed(r.entry)
			if !r.ok || known || !t.belongs(r.line) {
				continue
			}
			t.follow(r.line)
			if !t.filter.matches(r.line) {
				continue
			}
			t.count(r.line)
			if !yield(r.line, nil) {
				return
			}
		}
	}
}

type reading struct {
	entry ledger.Entry
	line  Line
	ok    bool
}

func (t *Tail) read(ctx context.Context, records iter.Seq2[ledger.Entry, error]) iter.Seq2[reading, error] {
	return func(yield func(reading, error) bool) {
		for entry, altered := range records {
			r, err := reading{entry: entry}, altered
			if err == nil || isAltered(err) {
				r.line, r.ok, err = t.memory.line(ctx, entry, altered)
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

func (t *Tail) passed(e ledger.Entry) {
	t.at = position{e.Leaf, e.Hash, e.ID, e.Stored}
	if e.Class == ledger.ClassEvent {
		t.event = t.at
	}
}

func (t *Tail) resume(ctx context.Context) (bool, error) {
	if t.at.leaf < 0 {
		return true, nil
	}
	found, err := t.unchanged(ctx)
	if !found && err == nil {
		found, err = t.moved(ctx)
	}
	if found || err != nil {
		t.missing = time.Time{}
		return found, err
	}
	if t.missing.IsZero() {
		t.missing = time.Now()
	}
	if time.Since(t.missing) < replacedFor {
		return false, nil
	}
	return true, t.replace(ctx)
}

func (t *Tail) unchanged(ctx context.Context) (bool, error) {
	for e, err := range t.ledger.After(ctx, t.at.leaf-1) {
		if err != nil && !isAltered(err) {
			return false, err
		}
		return e.Leaf == t.at.leaf && e.Hash == t.at.hash, nil
	}
	return false, nil
}

func (t *Tail) moved(ctx context.Context) (bool, error) {
	if t.event.id == "" {
		return false, nil
	}
	e, ok, err := t.ledger.Find(ctx, t.event.id)
	if ok || isAltered(err) {
		t.passed(e)
		return true, nil
	}
	return false, err
}

// ReplacedError means that the ledger file was replaced, and the new ledger lacks the last event
// that the reader has seen.
type ReplacedError struct{ ID string }

// Error implements error.
func (e *ReplacedError) Error() string {
	return fmt.Sprintf("another ledger without event %q replaced this one: continuing with the records that were stored after it", e.ID)
}

func (t *Tail) replace(ctx context.Context) error {
	missed := &ReplacedError{ID: t.event.id}
	t.missing, t.floor = time.Time{}, t.at.stored
	newest, err := t.ledger.Newest(ctx)
	if err != nil {
		return err
	}
	next := newest.Size
	for e, err := range t.ledger.Select(ctx, ledger.Selection{From: t.floor.Add(1), Stored: true}) {
		if err != nil && !isAltered(err) {
			return err
		}
		next = e.Leaf
		break
	}
	t.memory = newMemory(t.ledger)
	if err := t.startAt(ctx, next); err != nil {
		return err
	}
	return missed
}

func (t *Tail) belongs(l Line) bool {
	if t.run == "" || t.member[l.Run] {
		return true
	}
	if t.member[l.parent] || strings.HasPrefix(l.Run, t.run+"/") {
		t.member[l.Run] = true
		return true
	}
	return false
}

func (t *Tail) follow(l Line) {
	switch {
	case t.run == "" || l.Run != t.run:
	case l.Kind == events.RunFinished:
		t.finished, t.sealed = true, false
	case l.Kind == events.RunSealed:
		t.sealed = t.finished
	case !ledger.IsServiceRecord(l.Kind):
		t.finished, t.sealed = false, false
	}
}

func (t *Tail) count(l Line) {
	if l.Altered != "" {
		t.altered++
	}
}

func isAltered(err error) bool {
	_, ok := errors.AsType[*ledger.RecordError](err)
	return ok
}

// Waits reports whether err only means that a rebuild is replacing the ledger file. The caller can
// then call [Tail.Next] again.
func Waits(err error) bool { return errors.Is(err, fs.ErrNotExist) }
