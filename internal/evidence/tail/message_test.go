package tail

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/runtree"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// A message of any form has one line, with text of the message.
func FuzzMessage(f *testing.F) {
	f.Add("assistant", `[{"type":"image"},{"type":"output_text","text":"a\nb"}]`)
	f.Add("user", `{"content":[{"content":[{"text":"deep"}]}]}`)
	f.Add("", `"text"`)
	f.Fuzz(func(t *testing.T, role, content string) {
		var l Line
		l.message(events.MessageData{Role: role, Content: json.RawMessage(content)})
		if l.Name != runtree.OneLine(l.Name) || l.Detail != runtree.OneLine(l.Detail) {
			t.Fatalf("%q %q", l.Name, l.Detail)
		}
		if !json.Valid([]byte(content)) && l.Detail != "" {
			t.Fatalf("text %q of content that is not JSON", l.Detail)
		}
		if strings.TrimSpace(l.Detail) != l.Detail {
			t.Fatalf("%q", l.Detail)
		}
	})
}
