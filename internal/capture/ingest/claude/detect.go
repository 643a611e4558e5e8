package claude

import "github.com/hooktrail/hooktrail/internal/capture/ingest"

// Detect reports whether an input with this head is a transcript. Its lines have
// a type and belong to a session, a chain or a message.
func Detect(head []byte, _ string) bool {
	for o := range ingest.HeadObjects(head) {
		if o["type"] == nil {
			continue
		}
		_, session := o["sessionId"]
		_, uuid := o["uuid"]
		_, parent := o["parentUuid"]
		_, leaf := o["leafUuid"]
		_, snapshot := o["snapshot"]
		_, message := o["message"]
		if session && (message || o["operation"] != nil) || uuid && (session || parent) || leaf || snapshot && o["messageId"] != nil {
			return true
		}
	}
	return false
}
