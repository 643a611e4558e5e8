// Package wire contains the JSON format between hooks and engines in other processes
// and languages.
//
// A hook receives a document ([Append]):
//
//	{"event":"PreToolUse","point":"tool.before","tool":"Bash","args":{"command":"git status"},
//	 "session_id":"abc123","timestamp":"2024-01-15T10:30:00Z"}
//
// It answers with a reply ([ParseReply]):
//
//	{"action":"modify","modified_args":{"command":"git status -s"},"message":"shortened"}
//
// Clients send the same document, or a CloudEvent, to request a decision ([Parse]).
// The answer is the outcome of all hooks. An outcome is also a valid reply, so that a
// hook can ask a decision service.
//
// Errors contain no text of the input. Unknown fields are accepted.
package wire

// MaxBytes limits the size of a document and of a reply.
const MaxBytes = 1 << 20
