package hooktrail

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestDuration(t *testing.T) {
	for ms, want := range map[int64]string{0: "0ms", 999: "999ms", 3_449: "3.4s", 12_900: "12s", 83_000: "1m 23s", 7_500_000: "2h 5m"} {
		if got := duration(ms); got != want {
			t.Errorf("got %q for %d ms, want %q", got, ms, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567"} {
		if got := count(n); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestTimeBar(t *testing.T) {
	tests := []struct {
		name                 string
		start, length, whole time.Duration
		want                 string
	}{
		{"All", 0, 24, 24, strings.Repeat("█", 24)},
		{"Middle", 6, 12, 24, strings.Repeat("·", 6) + strings.Repeat("█", 12) + strings.Repeat("·", 6)},
		{"Short", 12, 0, 24, strings.Repeat("·", 12) + "█" + strings.Repeat("·", 11)},
		{"AtTheEnd", 24, 0, 24, strings.Repeat("·", 23) + "█"},
		{"Beyond", -5, 99, 24, strings.Repeat("█", 24)},
		{"NoTime", 0, 0, 0, strings.Repeat("·", 24)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := timeBar(tt.start, tt.length, tt.whole); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func FuzzShown(f *testing.F) {
	f.Add("a\x1bb\n\u202e", 3)
	f.Fuzz(func(t *testing.T, s string, width int) {
		width = 1 + int(uint(width)%1000)
		got := shown(s, width)
		if utf8.RuneCountInString(got) > width || strings.ContainsAny(got, "\n\t\x1b") {
			t.Errorf("%q at %d is %q", s, width, got)
		}
	})
}
