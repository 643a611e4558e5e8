package beads

import (
	"bytes"
	"testing"
)

func FuzzParseShown(f *testing.F) {
	f.Add([]byte(`{"id":"ht-1","title":"t","status":"open","priority":1,"issue_type":"task","dependencies":[` +
		`{"id":"ht-2","title":"u","status":"open","dependency_type":"discovered-from","created_at":"2026-03-01T09:00:00Z"}],"dependent_count":3}`))
	f.Add([]byte(`{"_type":"issue","id":"ht-1","dependencies":[{"issue_id":"ht-1","depends_on_id":"ht-2","type":"blocks","metadata":"{}"},null]}`))
	f.Add([]byte(`{"id":"ht-1","comments":[{"id":"c-1","author":"a","text":"t"},{"id":2}],"Title":"x"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		first, err := parseShown(text)
		if err != nil {
			return
		}
		again, err := parseShown(first.line)
		if err != nil {
			t.Fatalf("parse %s again: %v", first.line, err)
		}
		if !bytes.Equal(first.line, again.line) || first.issue.ID != again.issue.ID {
			t.Errorf("got %s, then %s", first.line, again.line)
		}
	})
}

func TestNewEnough(t *testing.T) {
	for version, want := range map[string]bool{
		"1.0.3": true, "1.0.5": true, "v1.1.0": true, "2": true, "1.0.3-dev": true, "10.0.0": true,
		"1.0.2": false, "0.49.6": false, "": false, "x": false,
	} {
		if got := !oldest.isAfter(version); got != want {
			t.Errorf("%q: got %v, want %v", version, got, want)
		}
	}
}
