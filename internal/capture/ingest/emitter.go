package ingest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"iter"
	"strconv"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Emitter hands on what an adapter makes of one input: events, and reports on
// what it cannot read. After the reader of the events stopped, it hands on
// nothing any more.
type Emitter struct {
	opts    Options
	source  string
	yield   func(events.Event, error) bool
	stopped bool
	line    int
	untimed bool // times that the input does not tell were asked for
	seen    map[[16]byte]int
	runs    map[string]*Run
	order   []*Run // as they were started
}

// NewEmitter returns the emitter of one input of a tool, which yields to yield.
func NewEmitter(tool string, opts Options, yield func(events.Event, error) bool) *Emitter {
	return &Emitter{opts: opts, source: tool, yield: yield, seen: map[[16]byte]int{}, runs: map[string]*Run{}}
}

// Lines calls read with each line of r, until the reader of the events stops.
// It reports whether the input came to its end.
func (m *Emitter) Lines(ctx context.Context, r io.Reader, read func(Line)) bool {
	return each(m, Lines(ctx, r, m.opts), func(in Line) {
		m.line = in.Number
		read(in)
	})
}

// each calls read with each part of an input, and reports what cannot be read,
// until the reader of the events stops. It reports whether the input came to its
// end.
func each[P any](m *Emitter, input iter.Seq2[P, error], read func(P)) bool {
	for part, err := range input {
		if err == nil {
			read(part)
		} else {
			m.Report(err)
			if _, isLine := errors.AsType[*LineError](err); !isLine {
				return false
			}
		}
		if m.stopped {
			return false
		}
	}
	return true
}

// At says which line the events that follow are of. [Emitter.Lines] does so
// with each line; an adapter that holds lines back does it for them.
func (m *Emitter) At(line int) { m.line = line }

// Stopped reports whether the reader of the events stopped.
func (m *Emitter) Stopped() bool { return m.stopped }

// Report hands on what is wrong with the input: a [*LineError], after which the
// input goes on, or another error, which ends it.
func (m *Emitter) Report(err error) {
	if !m.stopped {
		m.stopped = !m.yield(events.Event{}, err)
	}
}

// Fault reports what is wrong with the present line. It is kept when events of
// the line follow all the same.
func (m *Emitter) Fault(reason string, kept bool) {
	m.Report(&LineError{File: m.opts.File, Line: m.line, Reason: reason, Kept: kept})
}

// NotJSON reports that l is not the JSON that was expected of it, which err
// says.
func (m *Emitter) NotJSON(l Line, err error, kept bool) {
	report := JSONError(m.opts.File, l, err)
	report.Kept = kept
	m.Report(report)
}

// LineID names a line that has no id: by its content, and where that came
// before by how often, so that a longer version of the input names it the same.
func (m *Emitter) LineID(text []byte) string {
	sum := sha256.Sum256(text)
	key := [16]byte(sum[:16])
	m.seen[key]++
	id := "line-" + hex.EncodeToString(key[:])
	if n := m.seen[key]; n > 1 {
		id += "-" + strconv.Itoa(n)
	}
	return id
}

// Send hands e on. An event that cannot be published, such as one whose data is
// nested too deep, is reported instead.
func (m *Emitter) Send(e events.Event) {
	if m.stopped {
		return
	}
	if err := e.Validate(); err != nil {
		bad := asLineError(m.opts.File, m.line, err)
		bad.Reason, bad.Column = string(e.Kind())+": "+bad.Reason, 0 // the place is one in e
		m.Report(bad)
		return
	}
	m.stopped = !m.yield(e, nil)
}

// Place is where in the input an event comes from.
type Place struct {
	ID    string    // of the line, message or step, unique in its run
	Block int       // which part of it
	Time  time.Time // when it happened
}

// Now returns the time of what the input tells no time of. From then on the
// times of the input are none that an id could depend on.
func (m *Emitter) Now() time.Time {
	m.untimed = true
	if m.opts.Now == nil {
		return time.Unix(0, 0).UTC()
	}
	return m.opts.Now().UTC()
}

// stamp is the part of an aggregate's id that its time is.
func (m *Emitter) stamp(at time.Time) string {
	if m.untimed {
		return ""
	}
	return at.Format(time.RFC3339Nano)
}
