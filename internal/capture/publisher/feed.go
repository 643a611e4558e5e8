package publisher

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
	"github.com/hooktrail/hooktrail/pkg/redact"
)

// Counts say what became of the events of an input.
type Counts struct {
	Events  int `json:"events"`            // read from the input
	New     int `json:"new"`               // taken into the outbox
	Known   int `json:"known"`             // taken before: nothing was added
	Records int `json:"records,omitempty"` // another outbox's records about its own numbering, left out
}

// Contents say what the events of an input are about.
type Contents struct {
	ToolCalls  int `json:"tool_calls"`
	ToolErrors int `json:"tool_errors"` // tool calls that failed
	Errors     int `json:"errors"`      // other failures: of models, of the tool itself
}

// count adds e.
func (c *Contents) count(e events.Event) {
	switch e.Kind() { //nolint:exhaustive // the others are not counted
	case events.ToolBefore:
		c.ToolCalls++
	case events.Error:
		c.Errors++
	case events.ToolResult:
		var told struct {
			Status events.ToolStatus `json:"status"`
		}
		if json.Unmarshal(e.Data, &told) == nil && told.Status == events.ToolError {
			c.ToolErrors++
		}
	}
}

// Malformed says what is wrong with one line. It holds no text of it.
type Malformed struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column,omitempty"`
	Reason string `json:"reason"`
	Kept   bool   `json:"kept,omitempty"` // repaired, or kept as a custom event
}

// String returns "file:line:column: reason".
func (m Malformed) String() string {
	return (&ingest.LineError{File: m.File, Line: m.Line, Column: m.Column, Reason: m.Reason}).Error()
}

// maxMalformed bounds how many malformed lines a summary lists. All are counted.
const maxMalformed = 1000

// sink is what events are appended to.
type sink interface {
	Append(ctx context.Context, e events.Event) (events.Event, error)
}

// feed appends what an adapter yields to a sink, and counts.
type feed struct {
	sink      sink
	counts    Counts
	contents  Contents
	malformed int         // lines
	list      []Malformed // the first of them
	last      Malformed   // the latest of them
	runs      map[string]struct{}
}

// take appends all events of the input. What is wrong with single lines is
// counted; an error ends the input.
func (f *feed) take(ctx context.Context, file string, input iter.Seq2[events.Event, error]) error {
	for e, err := range input {
		if err == nil {
			err = f.append(ctx, e)
		}
		if err == nil {
			continue
		}
		if !f.noted(file, err) {
			return err
		}
	}
	return nil
}

func (f *feed) append(ctx context.Context, e events.Event) error {
	f.counts.Events++
	_, err := f.sink.Append(ctx, e)
	switch {
	case err == nil:
		f.counts.New++
	case errors.Is(err, publish.ErrDuplicate):
		f.counts.Known++
	default:
		return err
	}
	if e.Run != "" {
		f.runs[e.Run] = struct{}{}
	}
	f.contents.count(e)
	return nil
}

// noted counts err if it is about a single line or event, so that the rest can
// go on.
func (f *feed) noted(file string, err error) bool {
	var m Malformed
	line, isLine := errors.AsType[*ingest.LineError](err)
	invalid, isInvalid := errors.AsType[*events.InvalidError](err)
	switch {
	case errors.Is(err, ingest.ErrRecord):
		f.counts.Records++
		return true
	case isLine:
		m = Malformed{File: line.File, Line: line.Line, Column: line.Column, Reason: line.Reason, Kept: line.Kept}
	case isInvalid:
		m = Malformed{File: file, Reason: invalid.Error()}
	default:
		return false
	}
	f.add(m)
	return true
}

// add counts the line that m is about, once. Of several reports on a line the
// first counts by which something of it is lost.
func (f *feed) add(m Malformed) {
	again := m.Line > 0 && m.Line == f.last.Line && m.File == f.last.File
	switch {
	case again && (m.Kept || !f.last.Kept):
		return
	case !again:
		f.malformed++
		if f.malformed <= maxMalformed {
			f.list = append(f.list, m)
		}
	case f.malformed <= maxMalformed:
		f.list[len(f.list)-1] = m
	}
	f.last = m
}

// outboxDir returns the folder of an outbox of this command.
func outboxDir(dataDir, name string) string { return filepath.Join(dataDir, "outbox", name) }

const (
	// lockNotice is after which time a wait for another process is told.
	lockNotice = 2 * time.Second
	// interruptedFlush is how long an interrupted command goes on to send.
	interruptedFlush = 2 * time.Second
)

// openOutbox opens the outbox of that name below dataDir. Without a redactor it
// takes that of pkg/redact.
func openOutbox(ctx context.Context, b *broker.Broker, dataDir string, opts publish.Options, logger *slog.Logger) (*publish.Publisher, error) {
	opts.Dir = outboxDir(dataDir, opts.Name)
	if opts.Redactor == nil {
		r, err := redact.New(redact.Options{})
		if err != nil {
			return nil, err
		}
		opts.Redactor = r
	}
	opts.Logger = logger
	opts.SubjectPrefix, opts.StreamPrefix = b.Space().Prefix, b.Space().StreamPrefix
	notice := time.AfterFunc(lockNotice, func() {
		logger.WarnContext(ctx, "outbox is in use by another process, waiting for it", "outbox", opts.Dir)
	})
	defer notice.Stop()
	return publish.Open(ctx, b.Conn(), opts)
}

// closeOutbox waits until everything is in the stream. Once ctx has ended it
// goes on a little longer; the error says how much stays in the outbox.
func closeOutbox(ctx context.Context, p *publish.Publisher, dir string) error {
	err := p.Flush(ctx)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), interruptedFlush)
	defer cancel()
	closed := p.Close(last)
	waiting := p.Stats().Pending
	if closed == nil && (err == nil || waiting == 0) {
		return nil
	}
	if err == nil {
		return closed
	}
	return fmt.Errorf("%d events stay in the outbox %s and are sent the next time: %w", waiting, dir, errors.Join(err, closed))
}
