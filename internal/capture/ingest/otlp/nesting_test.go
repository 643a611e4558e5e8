package otlp_test

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/ingest/otlp"
)

func field(number int, content []byte) []byte {
	head := binary.AppendUvarint(nil, uint64(number)<<3|2)
	return append(binary.AppendUvarint(head, uint64(len(content))), content...)
}

func lists(n int) []byte {
	var heads [][]byte
	size := 0
	for range n {
		for _, number := range []byte{1, 5} { // 1 is the element of a list, and 5 is the list of a value
			head := append([]byte{number<<3 | 2}, binary.AppendUvarint(nil, uint64(size))...)
			heads = append(heads, head)
			size += len(head)
		}
	}
	slices.Reverse(heads)
	return slices.Concat(heads...)
}

func refusal(s otlp.Signal, media string, body []byte) (refused error) {
	for _, err := range otlp.Events(s, media, body, otlp.Options{Tenant: "acme", Now: now}) {
		if errors.Is(err, otlp.ErrDocument) {
			refused = err
		}
	}
	return refused
}

// Deeply nested requests do not crash the process. This request of 16 MiB would
// overflow a stack.
func TestEvents_NestedProtobuf(t *testing.T) {
	deep := lists(1_600_000)
	attribute := field(2, deep)
	for name, tt := range map[string]struct {
		signal otlp.Signal
		body   []byte
	}{
		"Body":      {otlp.Logs, field(1, field(2, field(2, field(5, deep))))},
		"Record":    {otlp.Logs, field(1, field(2, field(2, field(6, attribute))))},
		"OldLogs":   {otlp.Logs, field(1, field(1000, field(2, field(5, deep))))},
		"Map":       {otlp.Logs, field(1, field(2, field(2, field(5, field(6, field(1, attribute))))))},
		"Resource":  {otlp.Traces, field(1, field(1, field(1, attribute)))},
		"Scope":     {otlp.Traces, field(1, field(2, field(1, field(3, attribute))))},
		"Span":      {otlp.Traces, field(1, field(2, field(2, field(9, attribute))))},
		"SpanEvent": {otlp.Traces, field(1, field(2, field(2, field(11, field(3, attribute)))))},
		"SpanLink":  {otlp.Traces, field(1, field(2, field(2, field(13, field(4, attribute)))))},
		"OldSpans":  {otlp.Traces, field(1, field(1000, field(2, field(9, attribute))))},
	} {
		if err := refusal(tt.signal, otlp.Protobuf, tt.body); err == nil || !strings.Contains(err.Error(), "nested too deep") {
			t.Errorf("%s: got %v, want it refused as nested too deep", name, err)
		}
	}
	if err := refusal(otlp.Logs, otlp.Protobuf, field(1, field(2, field(2, field(5, lists(200)))))); err != nil {
		t.Errorf("200 deep: got %v, want the request read", err)
	}
}

// The cost of nested values is proportional to their length, not to their depth.
func TestEvents_NestedJSON(t *testing.T) {
	const levels = 3000
	body := strings.Repeat(`{"arrayValue":{"values":[`, levels) + `{"stringValue":"` + strings.Repeat("a", 4<<20) + `"}` + strings.Repeat(`]}}`, levels)
	began := time.Now()
	_, rejected := read(t, otlp.Logs, otlp.JSON, logs("x", `{"body":`+body+`}`))
	if len(rejected) != 1 || !strings.Contains(rejected[0], "nested more than 512 deep") {
		t.Errorf("rejected %v, want the record, for its nesting", rejected)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
}

// Values may have the forms of OTLP/JSON or those of some exporters.
func TestEvents_Values(t *testing.T) {
	for value, want := range map[string]string{
		`{"stringValue":"a"}`: `"a"`, `{"boolValue":true}`: `true`, `{"intValue":"12345678901234567"}`: `12345678901234567`, `{"intValue":7}`: `7`,
		`{"doubleValue":1.5}`: `1.5`, `{"bytesValue":"AQ=="}`: `"AQ=="`,
		`{"arrayValue":{"values":[{"intValue":1},{},{"doubleValue":"NaN"}]}}`: `[1,null,"NaN"]`,
		`{"arrayValue":{}}`: `[]`,
		`{"kvlistValue":{"values":[{"key":"k","value":{"arrayValue":{"values":[{"stringValue":"v"}]}}},7]}}`: `{"k":["v"]}`,
		`"plain"`: `"plain"`, `[1,"a"]`: `[1,"a"]`,
	} {
		list, rejected := read(t, otlp.Logs, otlp.JSON, logs("x", `{"traceId":"ea673708441c2984a54a3e3962d3595f","eventName":"gen_ai.user.message","body":`+value+`}`))
		if len(rejected) > 0 || len(list) != 1 || !strings.Contains(string(list[0].Data), `"content":`+want) {
			t.Errorf("%s: got %v, rejected %v, want %s", value, list, rejected, want)
		}
	}
}
