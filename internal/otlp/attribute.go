package otlp

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// attributes are those of a span or a record, else of its resource, by name.
type attributes map[string]any

// keyValue is an attribute as OTLP/JSON has it.
type keyValue struct {
	Key   string   `json:"key"`
	Value anyValue `json:"value"`
}

// anyValue is a value as OTLP/JSON has it: {"stringValue":"x"}.
type anyValue struct{ value any }

// UnmarshalJSON reads a value; what is none of OTLP's is kept as it is.
func (v *anyValue) UnmarshalJSON(data []byte) error {
	var form struct {
		String *string         `json:"stringValue"`
		Bool   *bool           `json:"boolValue"`
		Int    json.RawMessage `json:"intValue"`
		Double json.RawMessage `json:"doubleValue"`
		Bytes  *string         `json:"bytesValue"`
		Array  *struct {
			Values []anyValue `json:"values"`
		} `json:"arrayValue"`
		Map *struct {
			Values []keyValue `json:"values"`
		} `json:"kvlistValue"`
	}
	if err := json.Unmarshal(data, &form); err != nil {
		v.value = json.RawMessage(bytes.Clone(data))
		return nil //nolint:nilerr // kept as it is: one odd value costs no span
	}
	switch {
	case form.String != nil:
		v.value = *form.String
	case form.Bool != nil:
		v.value = *form.Bool
	case form.Int != nil:
		v.value = json.Number(strings.Trim(string(form.Int), `"`))
	case form.Double != nil:
		v.value = json.Number(strings.Trim(string(form.Double), `"`))
	case form.Bytes != nil:
		v.value = *form.Bytes
	case form.Array != nil:
		list := make([]any, len(form.Array.Values))
		for i, element := range form.Array.Values {
			list[i] = element.value
		}
		v.value = list
	case form.Map != nil:
		v.value = map[string]any(asAttributes(form.Map.Values))
	}
	return nil
}

func asAttributes(list []keyValue) attributes {
	a := make(attributes, len(list))
	for _, kv := range list {
		a[kv.Key] = kv.Value.value
	}
	return a
}

// has reports whether one of the names is there and not empty.
func (a attributes) has(names ...string) bool {
	for _, name := range names {
		if v, ok := a[name]; ok && v != nil && v != "" {
			return true
		}
	}
	return false
}

// under reports whether a name begins with one of the prefixes.
func (a attributes) under(prefixes ...string) bool {
	for name := range a {
		for _, prefix := range prefixes {
			if strings.HasPrefix(name, prefix) {
				return true
			}
		}
	}
	return false
}

// text returns the first of the names that is there and not empty, as text.
func (a attributes) text(names ...string) string {
	for _, name := range names {
		switch v := a[name].(type) {
		case string:
			if v != "" {
				return v
			}
		case json.Number:
			return v.String()
		case bool:
			return strconv.FormatBool(v)
		}
	}
	return ""
}

// number returns the first of the names that is a number, or text that is one.
func (a attributes) number(names ...string) (int64, bool) {
	for _, name := range names {
		text := a.text(name)
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n, true
		}
		if f, err := strconv.ParseFloat(text, 64); err == nil && f > -1e15 && f < 1e15 {
			return int64(f), true
		}
	}
	return 0, false
}

// truth returns the first of the names that says yes or no.
func (a attributes) truth(names ...string) (yes, ok bool) {
	b, err := strconv.ParseBool(a.text(names...))
	return b, err == nil
}

// content returns the first of the names that is there, as JSON: text that is
// JSON as what it says, other text as a string.
func (a attributes) content(names ...string) json.RawMessage {
	for _, name := range names {
		switch v := a[name].(type) {
		case nil:
		case string:
			if v == "" {
				continue
			}
			if raw := json.RawMessage(v); (v[0] == '{' || v[0] == '[') && events.IsData(raw) {
				return raw
			}
			return encode(v)
		default:
			return encode(v)
		}
	}
	return nil
}

// encode returns v as JSON, nothing if it has none.
func encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return raw
}
