package dialogue

import (
	"encoding/json"
	"strings"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type droidLine struct {
	Type      string `json:"type"`
	ID        string `json:"id"`
	Timestamp string `json:"timestamp"`
	Cwd       string `json:"cwd"`
	Title     string `json:"title"`
	Message   struct {
		Role       string          `json:"role"`
		Content    json.RawMessage `json:"content"`
		Visibility string          `json:"visibility"`
	} `json:"message"`
}

func droid(raw json.RawMessage) (entry, error) {
	var l droidLine
	if err := json.Unmarshal(raw, &l); err != nil {
		return entry{}, err
	}
	e := entry{id: l.ID, when: l.Timestamp, name: l.Type}
	switch l.Type {
	case "session_start":
		e.role, e.session, e.about = silent, l.ID, about{Cwd: l.Cwd, Title: l.Title}
		return e, nil
	case "message":
	default:
		return e, nil
	}
	var err error
	if e.parts, err = blocks(l.Message.Content); err != nil {
		return e, err
	}
	if e.role = assistant; l.Message.Role != "user" {
		return e, nil
	}
	e.role, e.injected = user, l.Message.Visibility == "llm_only"
	for i, p := range e.parts {
		if p.kind == text && strings.HasPrefix(strings.TrimSpace(p.text), "<system-reminder>") {
			e.parts[i].kind = content // Droid added it to the prompt
		}
		if p.kind == result {
			e.parts[i].outcome = droidOutcome(p.outcome)
		}
	}
	return e, nil
}

// droidOutcome looks for an exit code, because Droid often sets no error flag for a failed command.
func droidOutcome(data events.ToolResultData) events.ToolResultData {
	said := ingest.Flatten(data.Result)
	if data.Error != nil {
		said = data.Error.Message
	}
	if !strings.HasPrefix(said, "Error: ") {
		return data
	}
	code := lastExit(said)
	if code != nil && data.Error == nil {
		data = told(true, data.Result)
	}
	data.ExitCode = code
	return data
}
