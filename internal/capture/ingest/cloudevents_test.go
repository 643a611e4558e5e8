package ingest_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
)

func TestCloudEvents(t *testing.T) {
	in := strings.Join([]string{
		`{"specversion":"1.0","id":"1","source":"s","type":"t","producer":"p","sequence":"7","salt":"AAAA","tenant":"own"}`, "",
		`{"specversion":"1.0","id":"2","source":"s","type":"t"}`,
		`{"specversion":"1.0","id":3}`,
		`{"specversion":"1.0","id":"1","source":"s","type":"hooktrail.gap.recorded"}`,
		`oops`,
	}, "\n")
	var got []string
	for e, err := range ingest.CloudEvents(t.Context(), strings.NewReader(in), ingest.Options{File: "-", Tenant: "mine"}) {
		switch {
		case errors.Is(err, ingest.ErrReserved):
			got = append(got, "record: "+err.Error())
		case err != nil:
			got = append(got, err.Error())
		default:
			got = append(got, string(e.Encode()))
		}
	}
	want := []string{
		`{"specversion":"1.0","id":"1","source":"s","type":"t","tenant":"own"}`,
		`{"specversion":"1.0","id":"2","source":"s","type":"t","tenant":"mine"}`,
		"-:4:27: id: unexpected byte '3', want a string",
		"record: -:5: gap.recorded: a reserved kind, which only Hooktrail's own services record",
		"-:6:1: unexpected byte 'o', want '{'",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Accepted lines survive a round trip through their encoding.
func FuzzCloudEvents(f *testing.F) {
	f.Add([]byte(`{"specversion":"1.0","id":"1","source":"s","type":"t","data":[1, 2]}` + "\n{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var out bytes.Buffer
		first := decodeAll(t, bytes.NewReader(data))
		for _, line := range first {
			out.WriteString(line + "\n")
		}
		if diff := cmp.Diff(first, decodeAll(t, &out)); diff != "" {
			t.Fatalf("(-first +second):\n%s", diff)
		}
	})
}

func decodeAll(tb testing.TB, r io.Reader) (list []string) {
	tb.Helper()
	for e, err := range ingest.CloudEvents(tb.Context(), bufio.NewReader(r), ingest.Options{File: "f", Tenant: "t"}) {
		if err == nil {
			list = append(list, string(e.Encode()))
		}
	}
	return list
}
