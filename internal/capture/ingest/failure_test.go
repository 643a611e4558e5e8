package ingest_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
)

// The cause of a failure is often in the last lines of a long output.
func TestFailed(t *testing.T) {
	long := "first" + strings.Repeat("ä", ingest.MaxMessage) + "x" + strings.Repeat("ö", ingest.MaxMessage) + "last"
	f, result := ingest.Failed(long, ingest.JSON(long))
	if !strings.HasPrefix(f.Message, "first") || !strings.HasSuffix(f.Message, "last") || len(f.Message) > ingest.MaxMessage+len(" … ") || len(result) == 0 {
		t.Errorf("%d bytes, %d of the result: %.10q … %q", len(f.Message), len(result), f.Message, f.Message[len(f.Message)-10:])
	}
	if f, result := ingest.Failed("short", ingest.JSON("short")); f.Message != "short" || result != nil {
		t.Errorf("got %q, %s", f.Message, result)
	}
}

func FuzzClipMiddle(f *testing.F) {
	f.Add("abcdefä", 5)
	f.Add("", 0)
	f.Fuzz(func(t *testing.T, s string, n int) {
		if n < 0 || !utf8.ValidString(s) {
			return
		}
		got := ingest.ClipMiddle(s, n)
		before, after, cut := strings.Cut(got, " … ")
		if len(s) <= n && got != s || !utf8.ValidString(got) || len(s) > n && (!cut || len(got) > n+len(" … ") || !strings.HasPrefix(s, before) && !strings.HasSuffix(s, after)) {
			t.Errorf("%q %d: %q", s, n, got)
		}
	})
}
