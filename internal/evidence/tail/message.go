package tail

import (
	"encoding/json"
	"strings"

	"github.com/hooktrail/hooktrail/internal/evidence/runtree"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func (l *Line) message(p events.MessageData) {
	l.Name = runtree.OneLine(p.Role)
	l.decided(p.Outcome)
	var content any
	if json.Unmarshal(p.Content, &content) == nil {
		l.Detail = runtree.OneLine(textIn(content, maxNesting))
	}
}

const maxNesting = 4 // of the parts of a message

// textIn returns the first text of a message. Its content is a text, a part with the member text or
// content, or a list of parts.
func textIn(content any, depth int) string {
	if depth == 0 {
		return ""
	}
	switch c := content.(type) {
	case string:
		return strings.TrimSpace(c)
	case []any:
		for _, part := range c {
			if text := textIn(part, depth-1); text != "" {
				return text
			}
		}
	case map[string]any:
		for _, name := range []string{"text", "content"} {
			if text := textIn(c[name], depth-1); text != "" {
				return text
			}
		}
	}
	return ""
}

const progress = "progress." // begins the names of the events that Claude Code repeats while a hook or command runs

// isQuiet reports whether a person learns nothing from the line.
func (l Line) isQuiet() bool {
	switch {
	case l.Altered != "" || l.Removed != "":
		return false
	case l.Kind == events.Custom:
		return l.Name == "" || strings.HasPrefix(l.Name, progress)
	case isMessage(l.Kind):
		return l.Detail == "" && (l.Verdict == "" || l.Verdict == events.VerdictNone)
	}
	return false
}

func isMessage(k events.Kind) bool {
	return k == events.MessageCreate || k == events.MessageCreated || k == events.MessageUpdate || k == events.MessageUpdated
}
