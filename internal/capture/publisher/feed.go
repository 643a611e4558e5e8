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

// Counts count the events of an input.
type Counts struct {
	Events  int `json:"events"`
	New     int `json:"new"`               // added to the outbox
	Known   int `json:"known"`             // stored before, so not added again
	Changed int `json:"changed,omitempty"` // stored before with other content; added with the new content
	Records int `json:"records,omitempty"` // of reserved kinds; skipped
}

// Contents counts the tool calls and failures among the events of an input.
type Contents struct {
	ToolCalls  int `json:"tool_calls"`
	ToolErrors int `json:"tool_errors"`

	ToolsDenied      int `json:"tools_denied,omitempty"`
	ToolsInterrupted int `json:"tools_interrupted,omitempty"`

	Errors int `json:"errors"` // failures of models and agents
}

func (c *Contents) count(e events.Event) {
	switch e.Kind() { //nolint:exhaustive // other events are not counted
	case events.ToolBefore:
		c.ToolCalls++
	case events.Error:
		c.Errors++
	case events.ToolResult:
		var data struct {
			Status events.ToolStatus `json:"status"`
		}
		if json.Unmarshal(e.Data, &data) == nil {
			c.result(data.Status)
		}
	}
}

func (c *Contents) result(status events.ToolStatus) {
	switch status {
	case events.ToolSuccess:
	case events.ToolError:
		c.ToolErrors++
	case events.ToolDenied:
		c.ToolsDenied++
	case events.ToolInterrupted:
		c.ToolsInterrupted++
	}
}

// Malformed describes one malformed line. It contains no text of the line.
type Malformed struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column,omitempty"`
	Reason string `json:"reason"`
	Kept   bool   `json:"kept,omitempty"` // repaired, or stored as a custom event
}

// String returns "file:line:column: reason".
func (m Malformed) String() string {
	return (&ingest.LineError{File: m.File, Line: m.Line, Column: m.Column, Reason: m.Reason}).Error()
}

const maxMalformed = 1000

type sink interface {
	Append(ctx context.Context, e events.Event) (events.Event, error)
}

type feed struct {
	sink      sink
	counts    Counts
	contents  Contents
	malformed int
	list      []Malformed
	last      Malformed
	runs      map[string]struct{}
	tenants   map[string]struct{} // nil if the caller does not need them
}

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
	case errors.Is(err, errChanged):
		f.counts.Changed++
	default:
		return err
	}
	if e.Run != "" {
		f.runs[e.Run] = struct{}{}
	}
	if f.tenants != nil {
		f.tenants[orDefault(e.Tenant)] = struct{}{}
	}
	f.contents.count(e)
	return nil
}

func (f *feed) noted(file string, err error) bool {
	var m Malformed
	line, isLine := errors.AsType[*ingest.LineError](err)
	invalid, isInvalid := errors.AsType[*events.InvalidError](err)
	switch {
	case errors.Is(err, ingest.ErrReserved):
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

func outboxDir(dataDir, name string) string { return filepath.Join(dataDir, "outbox", name) }

const (
	lockWarning = 2 * time.Second
	// lockWait is how long a command waits for another import or pipe to release the outbox. The
	// other command can take much longer, because it may follow files.
	lockWait         = time.Minute
	interruptedFlush = 2 * time.Second
)

func openOutbox(ctx context.Context, b *broker.Broker, dataDir string, opts publish.Options, logger *slog.Logger) (*publish.Publisher, error) {
	opts.Dir, opts.Journal = outboxDir(dataDir, opts.Name), publish.JournalDir(dataDir)
	if opts.Redactor == nil {
		r, err := redact.New(redact.Options{})
		if err != nil {
			return nil, err
		}
		opts.Redactor = r
	}
	opts.Logger = logger
	opts.SubjectPrefix, opts.StreamPrefix = b.Space().Prefix, b.Space().StreamPrefix
	opts.Issuer = broker.Issuer(dataDir, logger)
	notice := time.AfterFunc(lockWarning, func() {
		process := 0
		if list, err := Outboxes(dataDir, opts.Name); err == nil {
			process = list[0].Process
		}
		logger.WarnContext(ctx, "waiting for another process to release the outbox", "outbox", opts.Dir, "process", process)
	})
	defer notice.Stop()
	p, err := publish.Open(ctx, b.Conn(), opts)
	if errors.Is(err, publish.ErrInUse) && ctx.Err() == nil {
		return nil, fmt.Errorf("%w: wait until that process ends, or stop it", err)
	}
	return p, err
}

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
