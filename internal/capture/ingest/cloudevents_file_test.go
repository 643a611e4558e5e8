package ingest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
)

func TestCloudEventFile(t *testing.T) {
	const one, two = `{"specversion":"1.0","id":"1","source":"s","type":"t"}`, `{"specversion":"1.0","id":"2","source":"s","type":"t","tenant":"mine"}`
	others := `{"specversion":"1.0","id":"3","source":"s","type":"t","tenant":"theirs"}`
	both := []string{"1 mine", "2 mine"}
	tests := []struct {
		name, in string
		want     []string
	}{
		{"Lines", one + "\n" + two + "\n", both},
		{"LinesWithABrokenOne", "oops\n" + two, []string{"f:1:1: unexpected byte 'o', want '{'", "2 mine"}},
		{"List", "[\n" + one + ",\n" + two + "]", both},
		{"ListOnOneLine", "[" + one + "," + two + "]", both},
		{"Spread", strings.ReplaceAll(one, ",", ",\n") + strings.ReplaceAll(two, "{", "{\n"), both},
		{"OfAnother", "[" + others + ",\n" + two + "]", []string{"f:1: tenant: another one than is taken here", "2 mine"}},
		{"ListWithABrokenOne", "[" + one + `,{"specversion":"1.0"},7]`, []string{"1 mine", "f:1: id: missing", "f:1: unexpected byte '7', want '{'"}},
		{"Truncated", "[" + one + `,{"spec`, []string{"1 mine", "f:1:63: not JSON: the document ends early"}},
		{"Empty", "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for e, err := range ingest.CloudEventFile(t.Context(), strings.NewReader(tt.in), ingest.Options{File: "f", Tenant: "mine"}) {
				if err != nil {
					got = append(got, err.Error())
				} else {
					got = append(got, e.ID+" "+e.Tenant)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDetectCloudEvents(t *testing.T) {
	for head, want := range map[string]bool{
		`{"specversion":"1.0","id":"cut`:        true,
		"{\n  \"specversion\": \"1.0\",\n":      true,
		`[{"id":"1","specversion":"1.0"},{"id"`: true,
		`{"id":"1","source":"s"}`:               false,
		"\uFEFF" + `{"specversion":"1.`:         true,
		``:                                      false,
	} {
		if got := ingest.DetectCloudEvents([]byte(head), "f"); got != want {
			t.Errorf("%q: got %t, want %t", head, got, want)
		}
	}
}
