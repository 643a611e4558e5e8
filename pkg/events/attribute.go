package events

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// attributeNames are the members of an event that have a field, in the order in
// which they are written.
var attributeNames = [...]string{
	"specversion", "id", "source", "type", "subject", "time", "datacontenttype",
	"tenant", "producer", "sequence", "runid", "stepid", "sessionid", "agent",
	"agentrole", "runtype", "parentagent", "parentrun", "toolcall", "userid",
	"agentfs", "hooks", "traceparent", "salt", "data", "data_base64",
}

// attributeIndex returns the position of name in attributeNames, or -1.
func attributeIndex(name []byte) int {
	for i := range attributeNames {
		if attributeNames[i] == string(name) {
			return i
		}
	}
	return -1
}

// field returns where the text of a known attribute is kept, nil for the
// attributes that are not text.
func (e *Event) field(name string) *string {
	switch name {
	case "id":
		return &e.ID
	case "source":
		return &e.Source
	case "type":
		return &e.Type
	case "subject":
		return &e.Subject
	case "datacontenttype":
		return &e.DataContentType
	case "tenant":
		return &e.Tenant
	case "producer":
		return &e.Producer
	case "runid":
		return &e.Run
	case "stepid":
		return &e.Step
	case "sessionid":
		return &e.Session
	case "agent":
		return &e.Agent
	case "agentrole":
		return &e.AgentRole
	case "runtype":
		return &e.RunType
	case "parentagent":
		return &e.ParentAgent
	case "parentrun":
		return &e.ParentRun
	case "toolcall":
		return &e.ToolCall
	case "userid":
		return &e.User
	case "agentfs":
		return &e.AgentFS
	case "hooks":
		return &e.Hooks
	case "traceparent":
		return &e.TraceParent
	case "salt":
		return &e.Salt
	}
	return nil
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
