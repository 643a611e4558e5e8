package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// InvalidError describes an invalid field of a document.
type InvalidError struct {
	Field  string // empty for the document as a whole
	Reason string
}

// Error returns field and reason.
func (e *InvalidError) Error() string {
	if e.Field == "" {
		return "document: " + e.Reason
	}
	return "document: " + e.Field + ": " + e.Reason
}

func invalid(field, reason string) error { return &InvalidError{Field: field, Reason: reason} }

// Parse decodes the JSON document that a hook gets, or a CloudEvent whose kind is a hook point.
// Each error is an [InvalidError].
//
// The field event is the name of the hook point, either as in events (tool.before) or as in
// configuration files (PreToolUse). A document without the field payload may have unknown fields,
// which then become the payload.
func Parse(data []byte) (hooks.Document, error) {
	if len(data) > MaxBytes {
		return hooks.Document{}, invalid("", fmt.Sprintf("longer than %d bytes", MaxBytes))
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil || fields == nil {
		return hooks.Document{}, invalid("", "want one JSON object")
	}
	if _, ok := fields["specversion"]; ok {
		return fromEvent(data)
	}
	var d document
	failure, err := takeFailure(fields)
	if err != nil {
		return hooks.Document{}, err
	}
	if err := decode(fields, &d); err != nil {
		return hooks.Document{}, err
	}
	point, err := pointOf(d.Event, string(d.Point))
	if err != nil {
		return hooks.Document{}, err
	}
	out := hooks.Document{
		Point: point.Kind, Meta: d.meta(), Args: present(d.Args), Result: present(d.Result), Error: failure, Payload: present(d.Payload),
	}
	if d.Tool != nil {
		out.Tool = *d.Tool
	}
	if out.Payload == "" {
		out.Payload, err = rest(fields)
	}
	return out, err
}

func takeFailure(fields map[string]json.RawMessage) (string, error) {
	data, ok := fields["error"]
	if !ok {
		return "", nil
	}
	delete(fields, "error")
	var text string
	var failure events.Failure
	switch {
	case json.Unmarshal(data, &text) == nil:
		return text, nil
	case json.Unmarshal(data, &failure) == nil:
		return failure.Message, nil
	}
	return "", invalid("error", "want a string")
}

func decode(fields map[string]json.RawMessage, d *document) error {
	all, err := json.Marshal(fields)
	if err != nil {
		return invalid("", "want one JSON object")
	}
	if err := json.Unmarshal(all, d); err != nil {
		mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err)
		if ok && mismatch.Field != "" {
			return invalid(mismatch.Field, "want "+wanted(mismatch.Type))
		}
		return invalid("timestamp", "want a time as in 2024-01-15T10:30:00Z")
	}
	return nil
}

func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Uint64:
		return "a number that is not negative"
	}
	return "a string"
}

func pointOf(event, point string) (hooks.Point, error) {
	if event == "" && point == "" {
		return hooks.Point{}, invalid("event", "missing; want the name of a hook point, such as PreToolUse")
	}
	var found hooks.Point
	for _, name := range []string{point, event} {
		p, ok := hooks.PointNamed(name)
		switch {
		case name == "":
		case !ok:
			return hooks.Point{}, invalid("event", "no hook point has this name; hooktrail hooks list shows them")
		case found.Kind != "" && found.Kind != p.Kind:
			return hooks.Point{}, invalid("event", "another hook point than the field point names")
		default:
			found = p
		}
	}
	return found, nil
}

var known = func() []string {
	var names []string
	for _, t := range []reflect.Type{reflect.TypeFor[document](), reflect.TypeFor[claudeInput]()} {
		for f := range t.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			names = append(names, name)
		}
	}
	return names
}()

func rest(fields map[string]json.RawMessage) (hooks.JSON, error) {
	others := map[string]json.RawMessage{}
	for name, value := range fields {
		if !slices.Contains(known, name) {
			others[name] = value
		}
	}
	if len(others) == 0 {
		return "", nil
	}
	return hooks.Marshal(others)
}

func present(data json.RawMessage) hooks.JSON {
	if string(data) == "null" {
		return ""
	}
	return hooks.FromRaw(data)
}

func fromEvent(data []byte) (hooks.Document, error) {
	e, err := events.Decode(data)
	if err != nil {
		if bad, ok := errors.AsType[*events.InvalidError](err); ok {
			return hooks.Document{}, invalid(bad.Attribute, "not as CloudEvents has it")
		}
		return hooks.Document{}, invalid("", "not a CloudEvent")
	}
	point, ok := hooks.PointNamed(string(e.Kind()))
	if !ok {
		return hooks.Document{}, invalid("type", "events of this type belong to no hook point")
	}
	out := hooks.Document{Point: point.Kind, Payload: present(e.Data), Meta: hooks.Meta{
		Tenant: e.Tenant, Run: e.Run, RunType: e.RunType, Step: e.Step, Session: e.Session, Agent: e.Agent,
		AgentRole: e.AgentRole, ParentAgent: e.ParentAgent, ParentRun: e.ParentRun, User: e.User, ToolCall: e.ToolCall,
		AgentFS: e.AgentFS, Hooks: e.Hooks, Traceparent: e.TraceParent, Time: e.Time,
	}}
	if !AboutTool(point.Kind) {
		return out, nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(e.Data, &fields); err != nil || fields == nil {
		return hooks.Document{}, invalid("data", "want an object with the fields of "+string(point.Kind))
	}
	if out.Error, err = takeFailure(fields); err != nil {
		return hooks.Document{}, err
	}
	var d struct {
		Tool   string
		Args   json.RawMessage
		Result json.RawMessage
	}
	if err := json.Unmarshal(e.Data, &d); err != nil {
		return hooks.Document{}, invalid("data.tool", "want a string")
	}
	out.Tool, out.Args, out.Result = d.Tool, present(d.Args), present(d.Result)
	return out, nil
}

// AboutTool reports whether a hook at this point gets a document that describes a tool call.
func AboutTool(point events.Kind) bool {
	switch point { //nolint:exhaustive // all others do not
	case events.ToolBefore, events.ToolResult, events.ToolResultStore, events.Approval:
		return true
	}
	return false
}
