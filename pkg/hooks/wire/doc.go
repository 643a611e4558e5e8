// Package wire is what hooks in other processes, and engines in other
// languages, say to each other: one JSON object each way.
//
// A hook gets a document ([Append]):
//
//	{"event":"PreToolUse","point":"tool.before","tool":"Bash","args":{"command":"git status"},
//	 "session_id":"abc123","timestamp":"2024-01-15T10:30:00Z"}
//
// and answers with a reply ([ParseReply]):
//
//	{"action":"modify","modified_args":{"command":"git status -s"},"message":"shortened"}
//
// Who asks for a decision sends the same document, or a CloudEvent ([Parse]), and
// gets the outcome of all hooks, which is a reply too: a decision service can
// stand behind a hook of another.
//
// What comes from outside is bounded by [MaxBytes], and no error here holds any
// text of it. Unknown fields are not refused: an engine may say more than is
// asked.
package wire

// MaxBytes bounds a document and a reply.
const MaxBytes = 1 << 20
