package otlp

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/events"
)

type attributes map[string]any

type keyValue struct {
	Key   string   `json:"key"`
	Value anyValue `json:"value"`
}

type anyValue struct{ value any }

// UnmarshalJSON decodes an OTLP value such as {"intValue":"3"}, or plain JSON.
func (v *anyValue) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var form any
	if err := d.Decode(&form); err != nil {
		return err
	}
	v.value = plain(form)
	return nil
}

var valueNames = []string{"stringValue", "boolValue", "intValue", "doubleValue", "bytesValue", "arrayValue", "kvlistValue"}

func plain(form any) any {
	object, ok := form.(map[string]any)
	if !ok {
		return form
	}
	for _, name := range valueNames {
		switch v := object[name].(type) {
		case string:
			if (name == "intValue" || name == "doubleValue") && isNumber(v) {
				return json.Number(v)
			}
			return v // values that are not JSON numbers, such as NaN, stay text
		case bool, json.Number:
			return v
		case map[string]any:
			if name == "kvlistValue" {
				return plainMap(v["values"])
			}
			return plainList(v["values"])
		}
	}
	return nil
}

func isNumber(text string) bool {
	return strings.Trim(text, "+-.0123456789Ee") == "" && json.Valid([]byte(text))
}

func plainList(values any) []any {
	forms, _ := values.([]any)
	list := make([]any, len(forms))
	for i, form := range forms {
		list[i] = plain(form)
	}
	return list
}

func plainMap(values any) map[string]any {
	forms, _ := values.([]any)
	m := make(map[string]any, len(forms))
	for _, form := range forms {
		pair, _ := form.(map[string]any)
		if key, ok := pair["key"].(string); ok {
			m[key] = plain(pair["value"])
		}
	}
	return m
}

func asAttributes(list []keyValue) attributes {
	a := make(attributes, len(list))
	for _, kv := range list {
		a[kv.Key] = kv.Value.value
	}
	return a
}

func (a attributes) has(names ...string) bool {
	for _, name := range names {
		if v, ok := a[name]; ok && v != nil && v != "" {
			return true
		}
	}
	return false
}

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

func (a attributes) fraction(name string) float64 {
	f, err := strconv.ParseFloat(a.text(name), 64)
	if err != nil {
		return 0
	}
	return f
}

func (a attributes) truth(names ...string) (yes, ok bool) {
	b, err := strconv.ParseBool(a.text(names...))
	return b, err == nil
}

// content returns the first attribute with one of the names as JSON. It unpacks a string that
// contains JSON, because many libraries send JSON in strings.
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

func encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return raw
}
