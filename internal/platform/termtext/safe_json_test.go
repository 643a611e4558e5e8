package termtext

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestSafeJSON(t *testing.T) {
	var out bytes.Buffer
	if err := json.NewEncoder(SafeJSON(&out)).Encode([]string{"a\u202eb", "\u200b\U000e0001", "tëst 🙂", "\x1b[2J"}); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), `["a\u202eb","\u200b\udb40\udc01","tëst 🙂","\u001b[2J"]`+"\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func FuzzSafeJSON(f *testing.F) {
	f.Add("a\u202eb\x1b\x7f\u0085\ufeff\U000e0001")
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "?")
		var out bytes.Buffer
		if err := json.NewEncoder(SafeJSON(&out)).Encode(s); err != nil {
			t.Fatal(err)
		}
		if strings.IndexFunc(out.String(), unsafeRune) >= 0 {
			t.Errorf("%q keeps a control character: %q", s, out.String())
		}
		var again string
		if err := json.Unmarshal(out.Bytes(), &again); err != nil || again != s {
			t.Errorf("%q reads as %q, %v", s, again, err)
		}
	})
}
