package otlp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Signal is the kind of data in an OTLP request, such as traces or logs.
type Signal int

// The supported signals.
const (
	Traces Signal = iota
	Logs
)

// The media types of OTLP/HTTP.
const (
	JSON     = "application/json"
	Protobuf = "application/x-protobuf"
)

// Options describe a request.
type Options struct {
	Tenant string
	Now    time.Time // time of events that have none; no id depends on it
	// CallIDs gives calls and prompts of Gemini CLI the same ids that its hooks give them. Do not
	// use the CallIDs of the hooks here, because they would count each call twice.
	CallIDs agents.CallIDs
}

// ErrDocument reports a request that cannot be read.
var ErrDocument = errors.New("not an OTLP request")

// RejectedError reports a span or record that cannot become an event. Reading
// continues.
type RejectedError struct {
	Index  int // index of the span or record in the request, from 0
	Reason string
}

// Error returns the index and the reason. It quotes no text of the request.
func (e *RejectedError) Error() string { return fmt.Sprintf("%d: %s", e.Index, e.Reason) }

// Events yields the events of a request. If the request is refused as a whole, it yields only an
// error that wraps [ErrDocument] or [ErrItems].
func Events(s Signal, media string, body []byte, opts Options) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		d, err := parse(s, media, body)
		if err != nil {
			yield(events.Event{}, err)
			return
		}
		r := &reader{opts: opts, yield: yield, seen: map[string]int{}}
		for _, in := range slices.Concat(d.ResourceSpans, d.ResourceLogs) {
			for _, in := range r.scopes(s, in) {
				if !r.scope(s, in) {
					return
				}
			}
			if r.stopped {
				return
			}
		}
	}
}

func parse(s Signal, media string, body []byte) (document, error) {
	var err error
	if media == Protobuf {
		if body, err = fromProtobuf(s, body); err != nil {
			return document{}, err
		}
	}
	if err := countItems(body); err != nil {
		return document{}, err
	}
	var d document
	err = json.Unmarshal(body, &d)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return d, fmt.Errorf("%w: not JSON (byte %d)", ErrDocument, syntax.Offset)
	}
	if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return d, fmt.Errorf("%w: %s: another type was expected (byte %d)", ErrDocument, mismatch.Field, mismatch.Offset)
	}
	if err != nil {
		return d, fmt.Errorf("%w: not JSON", ErrDocument)
	}
	return d, nil
}

func fromProtobuf(s Signal, body []byte) ([]byte, error) {
	of, convert := tracesRequest, tracesAsJSON
	if s == Logs {
		of, convert = logsRequest, logsAsJSON
	}
	if err := new(items).check(of, body, 0); err != nil {
		return nil, err
	}
	text, err := convert(body)
	if err != nil {
		return nil, fmt.Errorf("%w: not protobuf", ErrDocument)
	}
	return text, nil
}

func logsAsJSON(body []byte) ([]byte, error) {
	logs, err := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(body)
	if err != nil {
		return nil, err
	}
	return (&plog.JSONMarshaler{}).MarshalLogs(logs)
}

func tracesAsJSON(body []byte) ([]byte, error) {
	traces, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(body)
	if err != nil {
		return nil, err
	}
	return (&ptrace.JSONMarshaler{}).MarshalTraces(traces)
}

type reader struct {
	opts    Options
	yield   func(events.Event, error) bool
	index   int
	seen    map[string]int // counts equal records without a time
	where                  // resource and scope of the current span or record
	stopped bool
}

// maxAround is the size in bytes above which a resource gets an event of its own. Otherwise, the
// event of every span would repeat the resource.
const maxAround = 4 << 10

func (r *reader) around(name string, text json.RawMessage) json.RawMessage {
	if len(text) <= maxAround || r.stopped {
		return text
	}
	id := hashOf(text)
	e := events.Event{
		ID: events.DeriveID(r.opts.Tenant, "otlp", name, id), Source: r.source(), Type: events.Custom.Type(), Time: r.opts.Now, Tenant: r.opts.Tenant,
	}
	data := events.CustomData{Name: "otlp." + name, Common: events.Common{Raw: encode(map[string]any{"id": id, name: text})}}
	if e.SetData(data) != nil || e.Normalize() != nil {
		return text
	}
	r.stopped = !r.yield(e, nil)
	return encode(map[string]string{"id": id})
}

type where struct {
	resource, scopeOf json.RawMessage
	attributes        attributes
	scopeName         string
}

func (r *reader) scopes(s Signal, in resource) []scope {
	r.attributes = asAttributes(describe(in.Resource).Attributes)
	r.resource = r.around("resource", in.Resource)
	if s == Logs {
		return in.Logs
	}
	return slices.Concat(in.Spans, in.OldSpans)
}

func (r *reader) scope(s Signal, in scope) bool {
	r.scopeName = describe(in.Scope).Name
	r.scopeOf = r.around("scope", in.Scope)
	if r.stopped {
		return false
	}
	list, read := in.Spans, r.span
	if s == Logs {
		list, read = in.Records, r.record
	}
	for _, raw := range list {
		made, err := read(raw)
		r.index++
		if err != nil {
			if !r.yield(events.Event{}, &RejectedError{Index: r.index - 1, Reason: err.Error()}) {
				return false
			}
			continue
		}
		for _, e := range made {
			if !r.yield(e, nil) {
				return false
			}
		}
	}
	return true
}

func (w *where) source() string {
	for _, name := range []string{w.attributes.text("service.name"), w.scopeName} {
		if name != "" && ingest.Usable(name) {
			return name
		}
	}
	return "otlp"
}

func (w *where) raw(name string, text json.RawMessage) json.RawMessage {
	whole := map[string]json.RawMessage{name: text}
	if len(w.resource) > 0 {
		whole["resource"] = w.resource
	}
	if len(w.scopeOf) > 0 {
		whole["scope"] = w.scopeOf
	}
	return encode(whole)
}

func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}
