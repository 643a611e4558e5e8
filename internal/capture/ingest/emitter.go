package ingest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"strconv"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Emitter passes events, and errors about input lines, to the function yield. It stops when yield
// returns false.
type Emitter struct {
	opts    Options
	source  string
	yield   func(events.Event, error) bool
	stopped bool
	line    int
	untimed bool // Now was called, so some times are not from the input
	now     time.Time
	drifts  bool // Now has returned different times, so differences of times mean nothing
	seen    map[[16]byte]int
	runs    map[string]*Run
	order   []*Run
}

// NewEmitter returns an emitter for one input.
func NewEmitter(tool string, opts Options, yield func(events.Event, error) bool) *Emitter {
	return &Emitter{opts: opts, source: tool, yield: yield, seen: map[[16]byte]int{}, runs: map[string]*Run{}}
}

// Lines calls read with each line until the receiver of the events stops. It returns true if it
// read the whole input.
func (m *Emitter) Lines(ctx context.Context, r io.Reader, read func(Line)) bool {
	return each(m, Lines(ctx, r, m.opts), func(in Line) {
		m.line = in.Number
		read(in)
	})
}

func each[P any](m *Emitter, input iter.Seq2[P, error], read func(P)) bool {
	for value, err := range input {
		if err == nil {
			read(value)
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

// At sets the line number for later errors. Call it before handling a line if later lines have
// already been read.
func (m *Emitter) At(line int) { m.line = line }

// Stopped reports whether the receiver of the events stopped.
func (m *Emitter) Stopped() bool { return m.stopped }

// Report passes err to the receiver of the events. Any error other than a [*LineError] ends the
// input.
func (m *Emitter) Report(err error) {
	if !m.stopped {
		m.stopped = !m.yield(events.Event{}, err)
	}
}

// Fault reports an error in the current line. Set kept if the line still becomes events.
func (m *Emitter) Fault(reason string, kept bool) {
	m.Report(&LineError{File: m.opts.File, Line: m.line, Reason: reason, Kept: kept})
}

// NotJSON reports a line that cannot be decoded as JSON. Set kept if the line still becomes events.
func (m *Emitter) NotJSON(l Line, err error, kept bool) {
	report := JSONError(m.opts.File, l, err)
	report.Kept = kept
	m.Report(report)
}

// Decode decodes the JSON object in a line into v and returns a copy of the line. It returns nil if
// the line is not a JSON object. If only a member has the wrong type, it returns both the copy and
// an error.
func (m *Emitter) Decode(in Line, v any) (json.RawMessage, error) {
	text := bytes.Clone(bytes.TrimLeft(in.Text, " \t"))
	err := json.Unmarshal(text, v)
	switch {
	case err != nil && !json.Valid(text):
		m.NotJSON(in, err, false)
		return nil, err
	case text[0] != '{':
		m.Fault("not a JSON object", false)
		return nil, err
	case err != nil:
		m.NotJSON(in, err, true)
	}
	return text, err
}

// LineID derives an event id from the text of a line. Repeated lines get different ids, because a
// number is appended.
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

// Send yields an event. If the event is invalid, Send reports an error in the current line instead.
func (m *Emitter) Send(e events.Event) {
	if m.stopped {
		return
	}
	markUntimed(&e)
	err := e.Validate()
	if err != nil && flattenDeep(&e, err) {
		m.Fault("nested more than 512 deep, kept as text", true)
		err = nil
	}
	if err != nil {
		bad := asLineError(m.opts.File, m.line, err)
		bad.Reason, bad.Column = string(e.Kind())+": "+bad.Reason, 0 // the column counts from the start of e
		m.Report(bad)
		return
	}
	m.stopped = !m.yield(e, nil)
}

// Origin is the position in the input that an event comes from.
type Origin struct {
	ID    string    // id of the line, message or step, unique in its run
	Block int       // index of the block in the message; -1 for all
	Time  time.Time // when it happened
	Step  string    // id of the step that begins here; the ID if empty
}

// Time parses text as a time. If text is empty or invalid, it returns fallback. It reports an error
// for invalid text.
func (m *Emitter) Time(text string, fallback time.Time) time.Time {
	if at, ok := Time(text); ok {
		return at
	}
	if text != "" {
		m.Fault(BadTime, true)
	}
	return fallback
}

// Now returns the time for events for which the input states no time. It can differ between
// imports.
func (m *Emitter) Now() time.Time {
	now := time.Unix(0, 0)
	if m.opts.Now != nil {
		now = m.opts.Now()
	}
	m.drifts = m.drifts || m.untimed && !now.Equal(m.now)
	m.untimed, m.now = true, now
	return now.In(elsewhere)
}

// between returns 0 if a second import of the same input could give other times, because both
// imports must create the same events.
func (m *Emitter) between(from, to time.Time) int64 {
	if m.drifts {
		return 0
	}
	return to.Sub(from).Milliseconds()
}

func (m *Emitter) stamp(at time.Time) string {
	if m.untimed {
		return ""
	}
	return at.Format(time.RFC3339Nano)
}
