package events

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// attributes are the members of an event that have a field, in the order in
// which they are written.
var attributes = [...]struct {
	name string
	text func(*Event) *string // where its text is kept; nil for what is not text
}{
	{"specversion", nil},
	{"id", func(e *Event) *string { return &e.ID }},
	{"source", func(e *Event) *string { return &e.Source }},
	{"type", func(e *Event) *string { return &e.Type }},
	{"subject", func(e *Event) *string { return &e.Subject }},
	{"time", nil},
	{"datacontenttype", func(e *Event) *string { return &e.DataContentType }},
	{"tenant", func(e *Event) *string { return &e.Tenant }},
	{"producer", func(e *Event) *string { return &e.Producer }},
	{"sequence", nil},
	{"runid", func(e *Event) *string { return &e.Run }},
	{"stepid", func(e *Event) *string { return &e.Step }},
	{"sessionid", func(e *Event) *string { return &e.Session }},
	{"agent", func(e *Event) *string { return &e.Agent }},
	{"agentrole", func(e *Event) *string { return &e.AgentRole }},
	{"runtype", func(e *Event) *string { return &e.RunType }},
	{"parentagent", func(e *Event) *string { return &e.ParentAgent }},
	{"parentrun", func(e *Event) *string { return &e.ParentRun }},
	{"toolcall", func(e *Event) *string { return &e.ToolCall }},
	{"userid", func(e *Event) *string { return &e.User }},
	{"agentfs", func(e *Event) *string { return &e.AgentFS }},
	{"hooks", func(e *Event) *string { return &e.Hooks }},
	{"traceparent", func(e *Event) *string { return &e.TraceParent }},
	{"salt", func(e *Event) *string { return &e.Salt }},
	{"data", nil},
	{"data_base64", nil},
}

// attributeIndex returns the position of name in attributes, or -1. It looks
// behind after first, because members come in that order as a rule.
func attributeIndex[T string | []byte](name T, after int) int {
	for i := range attributes {
		if i += after; i >= len(attributes) {
			i -= len(attributes)
		}
		if attributes[i].name == string(name) {
			return i
		}
	}
	return -1
}

// isAttributeName tells whether CloudEvents allows name. Its advice to stay
// within 20 characters is not enforced.
func isAttributeName[T string | []byte](name T) bool {
	for i := range len(name) {
		if c := name[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return len(name) > 0
}

// isScalar tells whether value, valid JSON, is a string, a boolean or an
// integer: what a CloudEvents attribute can be.
func isScalar(value json.RawMessage) bool {
	switch value[0] {
	case '"', 't', 'f':
		return true
	case '{', '[', 'n':
		return false
	}
	return !bytes.ContainsAny(value, ".eE")
}

// quoteName quotes the start of a name that came from outside.
func quoteName(name []byte) string {
	const most = 40
	if len(name) > most {
		name = name[:most]
	}
	return strconv.QuoteToASCII(string(name))
}
