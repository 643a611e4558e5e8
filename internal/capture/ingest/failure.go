package ingest

import (
	"encoding/json"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/events"
)

var errorClasses = []struct{ text, class string }{
	{"overloaded", "overloaded"},
	{"rate_limit", "rate_limit"},
	{"rate limit", "rate_limit"},
	{"usage limit", "rate_limit"},
	{"hit your limit", "rate_limit"},
	{"timeout", "timeout"},
	{"timed out", "timeout"},
	{"authentication", "authentication"},
	{"invalid api key", "authentication"},
	{"/login", "authentication"},
	{"credit balance", "billing"},
	{"billing", "billing"},
	{"prompt is too long", "context_length"},
	{"connection", "connection"},
	{"econn", "connection"},
	{"network", "connection"},
	{"invalid_request", "invalid_request"},
	{"server_error", "server_error"},
	{"internal server error", "server_error"},
}

// FailureClass derives an error class, such as "rate_limit", from the message of a model API or of
// the infrastructure. It returns "" for other messages.
func FailureClass(text string) string {
	lower := strings.ToLower(text)
	for _, c := range errorClasses {
		if strings.Contains(lower, c.text) {
			return c.class
		}
	}
	return ""
}

// Failed returns the failure of a tool call with the given error message. From a long message, it
// keeps the beginning and the end. The second result is content, or nil if content is only the
// message.
func Failed(message string, content json.RawMessage) (*events.Failure, json.RawMessage) {
	f := &events.Failure{Message: ClipMiddle(message, MaxMessage)}
	if len(content) > 0 && content[0] == '"' && len(message) <= MaxMessage {
		return f, nil
	}
	return f, content
}
