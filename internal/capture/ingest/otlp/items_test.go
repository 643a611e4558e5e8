package otlp_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/capture/ingest/otlp"
)

// A small compressed request cannot contain millions of empty items, each of which takes memory.
func TestEvents_Items(t *testing.T) {
	list := func(before, item, after string, n int) []byte {
		return []byte(before + strings.Repeat(item+",", n) + item + after)
	}
	const many, few = 400_000, 1_000
	for name, body := range map[string]func(n int) (otlp.Signal, string, []byte){
		"resources": func(n int) (otlp.Signal, string, []byte) {
			return otlp.Logs, otlp.JSON, list(`{"resourceLogs":[`, "{}", `]}`, n)
		},
		"attributes": func(n int) (otlp.Signal, string, []byte) {
			return otlp.Logs, otlp.JSON, list(`{"resourceLogs":[{"resource":{"attributes":[`, "{}", `]}}]}`, n)
		},
		"spans": func(n int) (otlp.Signal, string, []byte) {
			return otlp.Traces, otlp.JSON, list(`{"resourceSpans":[{"scopeSpans":[{"spans":[`, "0", `]}]}]}`, n)
		},
		"protobuf resources": func(n int) (otlp.Signal, string, []byte) {
			return otlp.Logs, otlp.Protobuf, bytes.Repeat([]byte{0x0a, 0}, n)
		},
	} {
		for _, n := range []int{few, many} {
			signal, media, text := body(n)
			tooMany := false
			for _, err := range otlp.Events(signal, media, text, otlp.Options{Tenant: "t"}) {
				tooMany = tooMany || errors.Is(err, otlp.ErrItems)
			}
			if tooMany != (n == many) {
				t.Errorf("%s: %d items: too many %v", name, n, tooMany)
			}
		}
	}
	text := list(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano":"1","body":{"stringValue":"`, "[{", `"}}]}]}]}`, many)
	for _, err := range otlp.Events(otlp.Logs, otlp.JSON, text, otlp.Options{Tenant: "t"}) {
		if err != nil {
			t.Errorf("brackets inside of a text: %v", err)
		}
	}
}
