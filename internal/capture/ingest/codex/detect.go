package codex

import (
	"slices"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
)

// Detect reports whether an input that begins with head comes from Codex.
func Detect(head []byte, path string) bool {
	for o := range ingest.HeadObjects(head) {
		kind := ingest.Text(o["type"])
		switch kind {
		case "session_meta", "response_item", "event_msg", "turn_context", "compacted":
			return ingest.Has(o, "payload")
		case "thread.started":
			return ingest.Has(o, "thread_id")
		case "item.started", "item.updated", "item.completed":
			return ingest.Has(o, "item")
		case "turn.completed", "turn.failed":
			return true
		case "turn.started", "error":
			continue
		}
		return rollout.MatchString(base(path)) && (slices.Contains(bareItems, kind) || kind == "" && o["id"] != nil)
	}
	return false
}
