package events

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// attributes are the members of an event that have a field, in the order in
// which they are written.
var attributes = [...]string{
	"specversion", "id", "source", "type", "subject", "time", "datacontenttype",
	"tenant", "producer", "sequence",
	"runid", "stepid", "sessionid", "agent", "agentrole", "runtype", "parentagent", "parentrun",
	"toolcall", "userid", "agentfs", "hooks", "traceparent", "salt",
	"data", "data_base64",
}

// texts returns where e keeps the text of each of attributes, in their order;
// nil for what is not text.
func (e *Event) texts() [len(attributes)]*string {
	return [...]*string{
		nil, &e.ID, &e.Source, &e.Type, &e.Subject, nil, &e.DataContentType,
		&e.Tenant, &e.Producer, nil,
		&e.Run, &e.Step, &e.Session, &e.Agent, &e.AgentRole, &e.RunType, &e.ParentAgent, &e.ParentRun,
		&e.ToolCall, &e.User, &e.AgentFS, &e.Hooks, &e.TraceParent, &e.Salt,
		nil, nil,
	}
}

// attributeIndex returns the position of name in attributes, or -1. It looks
// behind after first, because members come in that order as a rule.
func attributeIndex[T string | []byte](name T, after int) int {
	for i := range attributes {
		if i += after; i >= len(attributes) {
			i -= len(attributes)
		}
		if attributes[i] == string(name) {
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
