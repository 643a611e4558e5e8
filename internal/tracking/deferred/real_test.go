package deferred_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/testkit/realdata"
	"github.com/hooktrail/hooktrail/internal/tracking/deferred"
)

// reference is a labelled passage of the recorded data, whose text is not stored here.
type reference struct {
	File     string   `json:"file"`
	Line     int      `json:"line"`    // of JSON Lines, from 1; 0 for one document
	Pointer  string   `json:"pointer"` // RFC 6901; "" for text
	Offset   int      `json:"offset"`  // in bytes
	Length   int      `json:"length"`  // in bytes; 0 for all
	SHA256   string   `json:"sha256"`  // of the passage, first 16 digits
	Deferred bool     `json:"deferred"`
	Items    [][2]int `json:"items"` // offset and length in the passage
}

func (r reference) read(t *testing.T, files map[string][]byte) (text string, items []string) {
	t.Helper()
	data, ok := files[r.File]
	if !ok {
		var err error
		if data, err = os.ReadFile(realdata.Path(t, strings.Split(r.File, "/")...)); err != nil {
			t.Fatal(err)
		}
		files[r.File] = data
	}
	if r.Line > 0 {
		data = bytes.Split(data, []byte("\n"))[r.Line-1]
	}
	text = string(data)
	if r.Pointer != "" {
		text = at(t, data, r.Pointer)
	}
	if r.Length > 0 {
		text = text[r.Offset : r.Offset+r.Length]
	}
	sum := sha256.Sum256([]byte(text))
	if hex.EncodeToString(sum[:8]) != r.SHA256 {
		t.Fatalf("%s:%d%s: the passage at %d is another than the one labelled", r.File, r.Line, r.Pointer, r.Offset)
	}
	for _, item := range r.Items {
		items = append(items, text[item[0]:item[0]+item[1]])
	}
	return text, items
}

func at(t *testing.T, data []byte, pointer string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(pointer[1:], "/") {
		switch x := v.(type) {
		case map[string]any:
			v = x[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(x) {
				t.Fatalf("%s points at nothing", pointer)
			}
			v = x[i]
		}
	}
	text, ok := v.(string)
	if !ok {
		t.Fatalf("%s points at no text", pointer)
	}
	return text
}

// TestReal measures hand-labelled passages of real agents.
func TestReal(t *testing.T) {
	data, err := os.ReadFile("testdata/real.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var texts, items score
	files := make(map[string][]byte)
	for line := range bytes.Lines(data) {
		var r reference
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		text, want := r.read(t, files)
		got := deferred.Items(text)
		texts.add(r.Deferred, len(got) > 0)
		if r.Deferred != (len(got) > 0) {
			t.Logf("%s:%d%s at %d: deferred is %t, got %d items", r.File, r.Line, r.Pointer, r.Offset, r.Deferred, len(got))
		}
		if want != nil {
			compare(&items, want, got)
		}
	}
	texts.check(t, "real", precision, recall)
	items.check(t, "items, real", precision, recall)
}
