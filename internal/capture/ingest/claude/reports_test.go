package claude_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEvents_Reports(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	tests := []struct {
		name, line string
		want       []string
	}{
		{"EndsEarly", `{"type":"user"`, []string{"f:2:14: not JSON: the line ends early"}},
		{"LastCharacter", `}`, []string{"f:2:1: not JSON: unexpected character"}},
		{"LastOfMany", `{"type":"user",}`, []string{"f:2:16: not JSON: unexpected character"}},
		{"TooDeepForJSON", deep(10_001), []string{"f:2:10001: nested too deep"}},
		{"NoTime", `{"type":"x"}`, nil},
		{"EmptyTime", `{"type":"x","timestamp":""}`, nil},
		{"NotATime", `{"type":"x","timestamp":"noon"}`, []string{"f:2: timestamp: not a time of the years 1970 to 9999, that of the line before is taken"}},
		{"YearZero", `{"type":"x","timestamp":"0000-01-01T00:00:00Z"}`, []string{"f:2: timestamp: not a time of the years 1970 to 9999, that of the line before is taken"}},
		{"YearTenThousand", `{"type":"x","timestamp":"9999-12-31T23:59:59-14:00"}`, []string{"f:2: timestamp: not a time of the years 1970 to 9999, that of the line before is taken"}},
		{"TooDeepForAnEvent", `{"type":"x","deep":` + deep(600) + `}`, []string{"f:2: nested more than 512 deep, kept as text"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, bad := read(t, "f", []byte(u+`"uuid":"p","message":{"content":"go"}}`+"\n"+tt.line))
			var got []string
			for _, b := range bad {
				got = append(got, b.Error())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
