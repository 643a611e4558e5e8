package hooks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unsafe"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// JSON is a JSON document that nobody can change: hooks share it without
// copies. The empty JSON is no document. A JSON that was converted from a
// string, or came through [FromRaw], may hold anything; [JSON.Decode] tells.
type JSON string

// Marshal returns v as a document, with characters such as "<" as themselves.
func Marshal(v any) (JSON, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", fmt.Errorf("encode %T: %w", v, err)
	}
	return JSON(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// FromRaw returns a copy of raw as a document. It does not look inside.
func FromRaw(raw json.RawMessage) JSON { return JSON(raw) }

// Raw returns a copy of j, nil for no document.
func (j JSON) Raw() json.RawMessage {
	if j == "" {
		return nil
	}
	return json.RawMessage(j)
}

// Valid tells whether j is one well-formed JSON value.
func (j JSON) Valid() bool {
	// No copy: both only read. The first is fast, and strict about Unicode.
	data := unsafe.Slice(unsafe.StringData(string(j)), len(j)) //nolint:gosec // see above
	return events.IsData(data) || json.Valid(data)
}

// Decode decodes j into v as [json.Unmarshal] does. Its error never holds text
// of j.
func (j JSON) Decode(v any) error {
	if err := json.Unmarshal([]byte(j), v); err != nil {
		return fmt.Errorf("decode %T: %w", v, Fault("not the JSON that is wanted"))
	}
	return nil
}

// Map returns the object that j is, a fresh copy; numbers are float64.
func (j JSON) Map() (map[string]any, error) {
	var m map[string]any
	if err := j.Decode(&m); err != nil {
		return nil, err
	}
	return m, nil
}

// MarshalJSON returns j itself, null for no document.
func (j JSON) MarshalJSON() ([]byte, error) {
	if j == "" {
		return []byte("null"), nil
	}
	return []byte(j), nil
}

// UnmarshalJSON keeps a copy of data, no document for null.
func (j *JSON) UnmarshalJSON(data []byte) error {
	*j = ""
	if string(data) != "null" {
		*j = JSON(data)
	}
	return nil
}
