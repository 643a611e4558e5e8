package agentfs

import (
	"bytes"
	"cmp"
	"encoding/json"

	"github.com/hooktrail/hooktrail/pkg/events"
)

func failureText(failure *events.Failure, others ...string) string {
	if failure != nil {
		others = append([]string{failure.Message, failure.Class}, others...)
	}
	return cmp.Or(others...)
}

func resultText(result json.RawMessage) string {
	if len(result) == 0 || bytes.Equal(result, []byte("null")) {
		return ""
	}
	return cmp.Or(unquoted(result), string(result))
}

func unquoted(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) != nil {
		return ""
	}
	return s
}

func raw(value json.RawMessage) any {
	if len(value) == 0 {
		return nil
	}
	return value
}

// object encodes a value as JSON. Encoding cannot fail, because all values come from decoded JSON.
func object(value any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return []byte("null")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
