package claude

import "github.com/hooktrail/hooktrail/internal/capture/ingest"

// Detect reports whether an input that begins with head is a transcript of Claude Code.
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
