package ingest_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
)

// The sizes of reads do not change the result, and the fragments of an object together
// are the whole object.
func FuzzDocuments(f *testing.F) {
	f.Add([]byte(`{"a":1,"steps":[{"b":"c"},2]} [3,{}]` + "\n7"))
	f.Add([]byte(`{"steps":{"a":[1],"a":"<"}}`))
	f.Add([]byte(`{"a":[1,}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		opts := ingest.Options{File: "f"}
		whole := parts(t.Context(), bytes.NewReader(data), opts)
		bytewise := parts(t.Context(), iotest.OneByteReader(bytes.NewReader(data)), opts)
		if diff := cmp.Diff(whole, bytewise); diff != "" {
			t.Fatalf("(-at once +bytewise):\n%s", diff)
		}
		var object map[string]json.RawMessage
		if json.Unmarshal(data, &object) != nil || object == nil {
			return
		}
		var again ingest.Object
		for p, err := range ingest.Documents(t.Context(), bytes.NewReader(data), opts) {
			if err != nil {
				return // repaired text differs from the input
			}
			if !p.End {
				again.Add(p.Member, p.Text)
			}
		}
		var back map[string]json.RawMessage
		if text := again.JSON(); text != nil {
			if err := json.Unmarshal(text, &back); err != nil {
				t.Fatal(err)
			}
		}
		if len(back) != len(object) {
			t.Fatalf("got %d members, want %d", len(back), len(object))
		}
		for name, value := range object {
			if !bytes.Equal(value, back[name]) {
				t.Fatalf("%q: got %s, want %s", name, back[name], value)
			}
		}
	})
}
