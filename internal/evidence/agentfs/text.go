package agentfs

import (
	"bytes"
	"encoding/json"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// failureText returns the failure's message or class, or the first other text.
func failureText(failure *events.Failure, others ...string) string {
	if failure != nil {
		others = append([]string{failure.Message, failure.Class}, others...)
	}
	return firstOf(others...)
}

// resultText returns a failed tool's result as text. Some tools put the error there.
func resultText(result json.RawMessage) string {
	if len(result) == 0 || bytes.Equal(result, []byte("null")) {
		return ""
	}
	return firstOf(unquoted(result), string(result))
}

// unquoted returns the JSON string in value, or "" for any other JSON.
func unquoted(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) != nil {
		return ""
	}
	return s
}

// raw returns JSON for encoding, or nil if it is empty.
func raw(value json.RawMessage) any {
	if len(value) == 0 {
		return nil
	}
	return value
}

// object encodes value. It cannot fail because all values come from decoded JSON.
func object(value any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return []byte("null")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// firstOf returns the first non-empty value.
func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
