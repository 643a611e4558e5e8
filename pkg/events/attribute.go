package events

import (
	"bytes"
	"encoding/json"
	"strconv"
)

var attributes = [...]string{
	"specversion", "id", "source", "type", "subject", "time", "datacontenttype",
	"tenant", "producer", "sequence",
	"runid", "stepid", "sessionid", "agent", "agentrole", "runtype", "parentagent", "parentrun",
	"toolcall", "userid", "agentfs", "hooks", "traceparent", "salt",
	"data", "data_base64",
}

func (e *Event) texts() [len(attributes)]*string {
	return [...]*string{
		nil, &e.ID, &e.Source, &e.Type, &e.Subject, nil, &e.DataContentType,
		&e.Tenant, &e.Producer, nil,
		&e.Run, &e.Step, &e.Session, &e.Agent, &e.AgentRole, &e.RunType, &e.ParentAgent, &e.ParentRun,
		&e.ToolCall, &e.User, &e.AgentFS, &e.Hooks, &e.TraceParent, &e.Salt,
		nil, nil,
	}
}

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

func isAttributeName[T string | []byte](name T) bool {
	for i := range len(name) {
		if c := name[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return len(name) > 0
}

// isScalar requires valid JSON.
func isScalar(value json.RawMessage) bool {
	switch value[0] {
	case '"', 't', 'f':
		return true
	case '{', '[', 'n':
		return false
	}
	return !bytes.ContainsAny(value, ".eE")
}

func quoteName(name []byte) string {
	const most = 40
	if len(name) > most {
		name = name[:most]
	}
	return strconv.QuoteToASCII(string(name))
}
