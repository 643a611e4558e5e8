package dialogue

import (
	"encoding/json"
	"strings"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
)

func cursor(raw json.RawMessage) (entry, error) {
	var l struct {
		Role    string `json:"role"`
		Message struct {
			Content json.RawMessage `json:"content"`
		} `json:"message"`
	}
	if err := json.Unmarshal(raw, &l); err != nil {
		return entry{}, err
	}
	e := entry{name: "line", role: assistant}
	var err error
	e.parts, err = blocks(l.Message.Content)
	switch l.Role {
	case "user":
		e.role = user
		for i := range e.parts {
			e.parts[i].text = unwrapped(e.parts[i].text)
		}
	case "assistant":
	default:
		e.role, e.name = other, ingest.Clip(l.Role, maxName)
	}
	return e, err
}

const maxName = 60 // bytes

func unwrapped(prompt string) string {
	inner, ok := strings.CutPrefix(strings.TrimSpace(prompt), "<user_query>")
	if !ok {
		return prompt
	}
	return strings.TrimSpace(strings.TrimSuffix(inner, "</user_query>"))
}
