package metrics

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// thingKind says what a thing is. The numbers are stored.
type thingKind int

const (
	aRun thingKind = iota + 1
	aStep
	aCall
	anAnswer
	aDispatch // of hooks, one of which failed
)

// The states of things that are not those of their payload.
const (
	active    = "active"
	completed = "completed"
	failed    = "failed"
	denied    = "denied"
)

// key names a thing.
type key struct {
	kind            thingKind
	tenant, run, id string
}

// thing is what is known of something that is counted. Times and durations are
// whole microseconds, as they are stored: what was added is what is taken out.
type thing struct {
	label    string
	status   string // empty until something counts
	started  time.Time
	ended    time.Time
	measured time.Duration // as reported; 0 is unknown
	seen     []byte
}

// duration returns how long a thing that ended took, as it was measured, else
// as its times tell.
func (t thing) duration() (time.Duration, bool) {
	if t.measured > 0 {
		return t.measured, true
	}
	if t.started.IsZero() || t.ended.IsZero() || t.ended.Before(t.started) {
		return 0, false
	}
	return min(t.ended.Sub(t.started), maxDuration), true
}

const seenBytes = 8

// see notes that an event was applied. It reports false if it was before.
func (t *thing) see(id string) bool {
	sum := sha256.Sum256([]byte(id))
	for have := range slices.Chunk(t.seen, seenBytes) {
		if bytes.Equal(have, sum[:seenBytes]) {
			return false
		}
	}
	t.seen = append(t.seen, sum[:seenBytes]...)
	return true
}

// count adds the thing to the numbers, or takes it out with times -1.
func (t thing) count(n *numbers, k key, times int64) {
	var total, open, took *family
	switch k.kind {
	case aRun:
		total, open, took = runsTotal, runsActive, runDuration
	case aStep:
		total, open, took = stepsTotal, stepsActive, stepDuration
	case aCall:
		total, open, took = callsTotal, callsActive, callDuration
	case anAnswer, aDispatch:
		return
	}
	switch t.status {
	case "":
	case active:
		n.add(open, times, k.tenant, t.label)
	default:
		n.add(total, times, k.tenant, t.label, t.status)
		if d, ok := t.duration(); ok && t.status != denied {
			n.observe(took, times, d, k.tenant, t.label)
		}
	}
}

// change applies an event to the thing that k names, and keeps the numbers up
// with it. An event that was applied before changes nothing, and change reports
// false.
func (f *fold) change(k key, e events.Event, apply func(*thing)) (bool, error) {
	before, err := f.load(k)
	if err != nil {
		return false, err
	}
	after := before
	after.seen = slices.Clone(before.seen)
	if !after.see(e.ID) {
		return false, nil
	}
	apply(&after)
	after.started = fromMicroseconds(toMicroseconds(after.started))
	after.ended = fromMicroseconds(toMicroseconds(after.ended))
	before.count(f.numbers, k, -1)
	after.count(f.numbers, k, 1)
	return true, f.store(k, after)
}

func (f *fold) load(k key) (thing, error) {
	var t thing
	err := sqlitex.Execute(f.conn, `SELECT label, status, started, ended, measured, seen FROM thing
		WHERE kind = ? AND tenant = ? AND run = ? AND id = ?`, &sqlitex.ExecOptions{
		Args: []any{int(k.kind), k.tenant, k.run, k.id},
		ResultFunc: func(stmt *sqlite.Stmt) error {
			t = thing{
				label: stmt.ColumnText(0), status: stmt.ColumnText(1),
				started: fromMicroseconds(stmt.ColumnInt64(2)), ended: fromMicroseconds(stmt.ColumnInt64(3)),
				measured: time.Duration(stmt.ColumnInt64(4)) * time.Microsecond,
				seen:     make([]byte, stmt.ColumnLen(5)),
			}
			stmt.ColumnBytes(5, t.seen)
			return nil
		},
	})
	if err != nil {
		return thing{}, fmt.Errorf("load thing: %w", err)
	}
	return t, nil
}

func (f *fold) store(k key, t thing) error {
	err := sqlitex.Execute(f.conn, `INSERT OR REPLACE INTO thing
		(kind, tenant, run, id, label, status, started, ended, measured, seen) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		&sqlitex.ExecOptions{Args: []any{
			int(k.kind), k.tenant, k.run, k.id, t.label, t.status,
			toMicroseconds(t.started), toMicroseconds(t.ended), t.measured.Microseconds(), t.seen,
		}})
	if err != nil {
		return fmt.Errorf("store thing: %w", err)
	}
	return nil
}

func toMicroseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicroseconds(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMicro(n).UTC()
}
