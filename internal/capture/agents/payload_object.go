package agents

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

type object map[string]json.RawMessage

func objectOf(raw json.RawMessage) object {
	var o object
	if json.Unmarshal(raw, &o) != nil {
		return nil
	}
	return o
}

func (o object) raw(names ...string) json.RawMessage {
	for _, name := range names {
		if v := o[name]; len(v) > 0 && string(v) != "null" {
			return v
		}
	}
	return nil
}

func (o object) text(names ...string) string {
	var s string
	if json.Unmarshal(o.raw(names...), &s) != nil {
		return ""
	}
	return s
}

func (o object) number(names ...string) int64 {
	const most = 1 << 53
	var n float64
	if json.Unmarshal(o.raw(names...), &n) != nil || n < 0 || n > most {
		return 0
	}
	return int64(n)
}

func (o object) yes(name string) bool { return string(o[name]) == "true" }

func (o object) object(names ...string) object { return objectOf(o.raw(names...)) }

func (o object) moment(names ...string) (time.Time, bool) {
	raw := o.raw(names...)
	var ms int64
	if json.Unmarshal(raw, &ms) == nil {
		return usable(time.UnixMilli(ms))
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return time.Time{}, false
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(layout, text); err == nil {
			return usable(t)
		}
	}
	return time.Time{}, false
}

func usable(t time.Time) (time.Time, bool) {
	t = t.UTC()
	return t, t.Year() >= 1970 && t.Year() <= 9999
}

func storable(payload []byte) (json.RawMessage, bool) {
	var e events.Event
	if e.SetData(json.RawMessage(payload)) != nil || !events.IsData(withinData(e.Data)) {
		return nil, false
	}
	return e.Data, true
}

const maxDepth = 64

func pruned(payload []byte) []byte {
	dec := json.NewDecoder(bytes.NewReader(payload))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return nil
	}
	text, err := json.Marshal(prune(v, maxDepth))
	if err != nil {
		return nil
	}
	return text
}

func prune(v any, depth int) any {
	switch v := v.(type) {
	case map[string]any:
		if depth == 0 {
			return nil
		}
		for key, value := range v {
			v[key] = prune(value, depth-1)
		}
	case []any:
		if depth == 0 {
			return nil
		}
		for i, value := range v {
			v[i] = prune(value, depth-1)
		}
	}
	return v
}

func withinData(raw json.RawMessage) json.RawMessage {
	return append(append([]byte(`{"raw":`), raw...), '}')
}

func withRaw(data, raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || len(data) < 2 || data[len(data)-1] != '}' {
		return data
	}
	out := make(json.RawMessage, 0, len(data)+len(raw)+len(`,"raw":`))
	out = append(out, data[:len(data)-1]...)
	if len(data) > len(`{}`) {
		out = append(out, ',')
	}
	out = append(out, `"raw":`...)
	out = append(out, raw...)
	return append(out, '}')
}

func listOf(raw json.RawMessage) []json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return list
}
