package claude

import "github.com/hooktrail/hooktrail/internal/capture/ingest"

// Detect reports whether an input with this head is a transcript. Its lines have a
// type and belong to a session, a chain or a message.
func Detect(head []byte, _ string) bool {
	for o := range ingest.HeadObjects(head) {
		if o["type"] == nil {
			continue
		}
		has := func(names ...string) bool { return ingest.Has(o, names...) }
		if has("sessionId", "message") || has("sessionId") && o["operation"] != nil || has("uuid", "sessionId") ||
			has("uuid", "parentUuid") || has("leafUuid") || has("snapshot") && o["messageId"] != nil {
			return true
		}
	}
	return false
}
