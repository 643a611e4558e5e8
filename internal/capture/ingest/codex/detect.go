package codex

import (
	"slices"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
)

// Detect reports whether an input with this head comes from Codex. It has lines
// in the envelope of Codex, the head of a session, or events of codex exec
// --json.
func Detect(head []byte, path string) bool {
	for o := range ingest.HeadObjects(head) {
		l := line{Type: ingest.Text(o["type"])}
		_, payload := o["payload"]
		_, thread := o["thread_id"]
		_, item := o["item"]
		switch l.Type {
		case "session_meta", "response_item", "event_msg", "turn_context", "compacted":
			return payload
		case "thread.started":
			return thread
		case "item.started", "item.updated", "item.completed":
			return item
		case "turn.completed", "turn.failed":
			return true
		case "turn.started", "error":
			continue
		}
		isNamed := rollout.MatchString(base(path))
		return isNamed && (slices.Contains(bareItems, l.Type) || l.Type == "" && o["id"] != nil)
	}
	return false
}
