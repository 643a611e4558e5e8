// Package wire contains the JSON format in which hooks and engines in different processes and
// languages communicate.
//
// A hook receives a document, which [Append] encodes:
//
//	{"event":"PreToolUse","point":"tool.before","tool":"Bash","args":{"command":"git status"},
//	 "session_id":"abc123","timestamp":"2024-01-15T10:30:00Z"}
//
// The hook answers with a reply, which [ParseReply] decodes:
//
//	{"action":"modify","modified_args":{"command":"git status -s"},"message":"shortened"}
//
// A client that requests a decision sends the same document, or a CloudEvent. [Parse] decodes both.
// The answer is the combined outcome of all hooks. Each outcome is also a valid reply, so that a
// hook can forward its document to a decision service and return the answer.
//
// Errors contain no text of the input. Unknown fields are accepted.
package wire

// MaxBytes is the maximum size of a document and of a reply in bytes.
const MaxBytes = 1 << 20
