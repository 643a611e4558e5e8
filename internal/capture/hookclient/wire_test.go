package hookclient

import (
	"bytes"
	"testing"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// Encoding a decoded document and decoding it again does not change it.
func FuzzDecodeDocument(f *testing.F) {
	f.Add([]byte(`{"point":"tool.before","meta":{"Tenant":"acme"},"tool":"Bash","args":{"command":"ls && pwd"}}`))
	f.Add([]byte(`{"point":"tool.result","result":"a","error":"b","payload":[1,null]}`))
	f.Add([]byte(`{`))
	f.Fuzz(func(t *testing.T, body []byte) {
		d, err := DecodeDocument(body)
		if err != nil {
			return
		}
		text, err := EncodeDocument(d)
		if err != nil {
			t.Fatal(err)
		}
		again, err := DecodeDocument(text)
		if err != nil {
			t.Fatal(err)
		}
		if second, err := EncodeDocument(again); err != nil || !bytes.Equal(text, second) {
			t.Errorf("%v, document:\n%s\nagain:\n%s", err, text, second)
		}
	})
}

// A decoded outcome has a valid verdict. Encoding and decoding it again does not change
// it.
func FuzzDecodeOutcome(f *testing.F) {
	f.Add([]byte(`{"verdict":"deny","reason":"no","executions":[{"hook":"a","verdict":"deny"}]}`))
	f.Add([]byte(`{"verdict":"allow","args":{"command":"ls -l"},"value":{"a":1},"context":"c","executions":[]}`))
	f.Add([]byte(`{"verdict":"perhaps","executions":[]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		out, err := DecodeOutcome(events.ToolBefore, body)
		if err != nil {
			return
		}
		switch out.Verdict {
		case hooks.None, hooks.Allow, hooks.Ask, hooks.Deny:
		default:
			t.Errorf("verdict %q", out.Verdict)
		}
		text, err := EncodeOutcome(out)
		if err != nil {
			t.Fatal(err)
		}
		again, err := DecodeOutcome(events.ToolBefore, text)
		if err != nil {
			t.Fatal(err)
		}
		if second, err := EncodeOutcome(again); err != nil || !bytes.Equal(text, second) {
			t.Errorf("%v, outcome:\n%s\nagain:\n%s", err, text, second)
		}
	})
}
