package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
)

func parts(ctx context.Context, r io.Reader, opts ingest.Options) []string {
	var list []string
	for p, err := range ingest.Documents(ctx, r, opts, "steps") {
		switch {
		case err != nil:
			list = append(list, "error "+err.Error())
		case p.End:
			list = append(list, fmt.Sprintf("%d end, line %d", p.Document, p.Line))
		default:
			list = append(list, fmt.Sprintf("%d %s[%d] line %d: %s", p.Document, p.Member, p.Element, p.Line, p.Text))
		}
	}
	return list
}

func TestDocuments(t *testing.T) {
	tests := []struct {
		name, in string
		open     bool
		want     []string
	}{
		{name: "Empty", in: " \n"},
		{
			name: "Object", in: "{\"a\": {\"b\":1},\n \"steps\": [1,\n [2]],\"c\":null}\n",
			want: []string{`0 a[-1] line 1: {"b":1}`, `0 steps[0] line 2: 1`, `0 steps[1] line 3: [2]`, `0 c[-1] line 3: null`, "0 end, line 3"},
		},
		{name: "List", in: "\uFEFF[{},\n{}]", want: []string{"0 [0] line 1: {}", "0 [1] line 2: {}", "0 end, line 2"}},
		{name: "Lines", in: "{\"a\":1}\n{\"a\":2}\n", want: []string{"0 a[-1] line 1: 1", "0 end, line 1", "1 a[-1] line 2: 2", "1 end, line 2"}},
		{
			name: "ListsThatAreNone", in: `{"steps":"x"} {"steps":{"b":2,"a":[1]}} {"steps":null} {"steps":{}}`,
			want: []string{
				`0 steps[-1] line 1: "x"`, "0 end, line 1", `1 steps[-1] line 1: {"b":2,"a":[1]}`, "1 end, line 1", "2 steps[-1] line 1: null", "2 end, line 1",
				"3 steps[-1] line 1: {}", "3 end, line 1",
			},
		},
		{name: "Scalar", in: "7\n{}", want: []string{"error f:1: neither a JSON object nor a list", "1 end, line 2"}},
		{name: "Truncated", in: "{\"a\":1,\n\"steps\":[1,{\"x", want: []string{
			"0 a[-1] line 1: 1", "0 steps[0] line 2: 1", "error f:2:15: not JSON: the document ends early", "0 end, line 2",
		}},
		{name: "TruncatedAndOpen", open: true, in: `{"a":1,"steps":[1,{"x`, want: []string{"0 a[-1] line 1: 1", "0 steps[0] line 1: 1"}},
		{name: "Broken", in: "{\"a\":1,\n\"b\":[1,secret]}{}", want: []string{
			"0 a[-1] line 1: 1", "error f:2:8: not JSON: unexpected character; what follows is not read", "0 end, line 2",
		}},
		{name: "Junk", in: "secret", want: []string{"error f:1:1: not JSON: unexpected character; what follows is not read"}},
		{name: "NoColon", in: `{"a" 1}`, want: []string{"error f:1:6: not JSON: unexpected character; what follows is not read", "0 end, line 1"}},
		{name: "NoComma", in: `[1 "b"]`, want: []string{"0 [0] line 1: 1", "error f:1:4: not JSON: unexpected character; what follows is not read", "0 end, line 1"}},
		{name: "NoEnd", in: `[1}`, want: []string{"0 [0] line 1: 1", "error f:1:3: not JSON: unexpected character; what follows is not read", "0 end, line 1"}},
		{name: "NotUTF8", in: "{\"a\":\"\xff\"}", want: []string{"error f:1:6: not UTF-8, repaired", "0 a[-1] line 1: \"\uFFFD\"", "0 end, line 1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			opts := ingest.Options{File: "f", Open: tt.open}
			whole := parts(t.Context(), strings.NewReader(tt.in), opts)
			if diff := cmp.Diff(tt.want, whole); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			bytewise := parts(t.Context(), iotest.OneByteReader(strings.NewReader(tt.in)), opts)
			if diff := cmp.Diff(whole, bytewise); diff != "" {
				t.Errorf("read byte by byte (-at once +bytewise):\n%s", diff)
			}
		})
	}
}

// The receiver or the context can stop the input at any fragment.
func TestDocuments_Stops(t *testing.T) {
	const in = "{\"a\":1,\"steps\":[1,2]}{\"a\":\"\xff\"} 7 {"
	all := len(parts(t.Context(), strings.NewReader(in), ingest.Options{}))
	for most := 1; most < all; most++ {
		n := 0
		for _, err := range ingest.Documents(t.Context(), strings.NewReader(in), ingest.Options{}, "steps") {
			if n++; n == most || errors.Is(err, io.EOF) {
				break
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := parts(ctx, strings.NewReader(in), ingest.Options{}); !cmp.Equal(got, []string{"error context canceled"}) {
		t.Errorf("got %q, want the end of the context", got)
	}
}

// An error of the reader is not a fault of the document.
func TestDocuments_ReaderFails(t *testing.T) {
	broken := errors.New("broken disk")
	r := io.MultiReader(strings.NewReader(`{"a":1,`), iotest.ErrReader(broken))
	var last error
	for _, err := range ingest.Documents(t.Context(), r, ingest.Options{File: "f"}) {
		if err != nil {
			last = err
		}
	}
	if !errors.Is(last, broken) {
		t.Errorf("got %v, want %v", last, broken)
	}
}
