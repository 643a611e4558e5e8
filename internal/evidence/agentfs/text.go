package agentfs

import (
	"bytes"
	"encoding/json"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// failureText says what went wrong: the failure's own message, else what else
// there is.
func failureText(failure *events.Failure, others ...string) string {
	if failure != nil {
		others = append([]string{failure.Message, failure.Class}, others...)
	}
	return firstOf(others...)
}

// resultText returns a failed tool's result as text: some tools put the error
// there.
func resultText(result json.RawMessage) string {
	if len(result) == 0 || bytes.Equal(result, []byte("null")) {
		return ""
	}
	return firstOf(unquoted(result), string(result))
}

// unquoted returns the string that value is, "" if it is none.
func unquoted(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) != nil {
		return ""
	}
	return s
}

// raw returns JSON that may be absent as a value to encode.
func raw(value json.RawMessage) any {
	if len(value) == 0 {
		return nil
	}
	return value
}

// object encodes value. It cannot fail: everything comes from decoded JSON.
func object(value any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return []byte("null")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// firstOf returns the first that is not empty.
func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
