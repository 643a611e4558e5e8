package otlp

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"
)

type document struct {
	ResourceSpans []resource `json:"resourceSpans"`
	ResourceLogs  []resource `json:"resourceLogs"`
}

type resource struct {
	Resource json.RawMessage `json:"resource"`
	Spans    []scope         `json:"scopeSpans"`
	OldSpans []scope         `json:"instrumentationLibrarySpans"` // before OTLP 1.0
	Logs     []scope         `json:"scopeLogs"`
}

type scope struct {
	Scope   json.RawMessage   `json:"scope"`
	Spans   []json.RawMessage `json:"spans"`
	Records []json.RawMessage `json:"logRecords"`
}

type described struct {
	Name       string     `json:"name"`
	Attributes []keyValue `json:"attributes"`
}

func describe(raw json.RawMessage) (d described) {
	_ = json.Unmarshal(raw, &d) // members of another shape stay empty
	return d
}

type identifier string

// UnmarshalJSON decodes a trace or span id. OTLP/JSON requires hexadecimal text, but some exporters
// write base64 or a list of bytes.
func (id *identifier) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*id = normal(text)
		return nil
	}
	var buffer struct {
		Hex  string `json:"hex"`
		List []int  `json:"data"`
	}
	if err := json.Unmarshal(data, &buffer); err != nil {
		return errors.New("an id that is neither text nor bytes")
	}
	if buffer.Hex == "" {
		raw := make([]byte, len(buffer.List))
		for i, b := range buffer.List {
			raw[i] = byte(b)
		}
		buffer.Hex = hex.EncodeToString(raw)
	}
	*id = normal(buffer.Hex)
	return nil
}

func normal(text string) identifier {
	if raw, err := base64.StdEncoding.DecodeString(text); err == nil && (len(text) == 24 || len(text) == 12) {
		text = hex.EncodeToString(raw)
	}
	if strings.Trim(text, "0") == "" {
		return ""
	}
	return identifier(strings.ToLower(text))
}

func (id identifier) isHex(n int) bool {
	raw, err := hex.DecodeString(string(id))
	return err == nil && len(raw) == n
}

type nanos struct{ time.Time }

// UnmarshalJSON reads a time.
func (t *nanos) UnmarshalJSON(data []byte) error {
	n, err := strconv.ParseInt(strings.Trim(string(data), `"`), 10, 64)
	if err == nil && n > 0 {
		t.Time = time.Unix(0, n).UTC()
	}
	return nil
}

type spanForm struct {
	TraceID    identifier `json:"traceId"`
	SpanID     identifier `json:"spanId"`
	Parent     identifier `json:"parentSpanId"`
	Name       string     `json:"name"`
	Start      nanos      `json:"startTimeUnixNano"`
	End        nanos      `json:"endTimeUnixNano"`
	Attributes []keyValue `json:"attributes"`
	Events     []struct {
		Name       string     `json:"name"`
		Attributes []keyValue `json:"attributes"`
	} `json:"events"`
	Status struct {
		Code    json.RawMessage `json:"code"`
		Message string          `json:"message"`
	} `json:"status"`
}

func (f *spanForm) failed() bool {
	code := strings.Trim(string(f.Status.Code), `"`)
	return code == "2" || code == "STATUS_CODE_ERROR"
}

type recordForm struct {
	Time       nanos      `json:"timeUnixNano"`
	Observed   nanos      `json:"observedTimeUnixNano"`
	TraceID    identifier `json:"traceId"`
	SpanID     identifier `json:"spanId"`
	EventName  string     `json:"eventName"`
	Body       anyValue   `json:"body"`
	Attributes []keyValue `json:"attributes"`
}
