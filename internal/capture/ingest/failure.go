package ingest

import (
	"encoding/json"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// errorClasses are how failures of the infrastructure are known by their text,
// which differs from case to case. The first that fits counts.
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

// FailureClass returns the class of a failure of the infrastructure (a model
// that is overloaded, a network that is gone) from its text, and nothing where
// the text does not tell.
func FailureClass(text string) string {
	lower := strings.ToLower(text)
	for _, c := range errorClasses {
		if strings.Contains(lower, c.text) {
			return c.class
		}
	}
	return ""
}

// Failed returns the failure of a tool call that ended with message, and content
// as its result where the failure does not hold all of it.
func Failed(message string, content json.RawMessage) (*events.Failure, json.RawMessage) {
	f := &events.Failure{Message: Clip(message, MaxMessage)}
	if len(content) > 0 && content[0] == '"' && len(message) <= MaxMessage {
		return f, nil
	}
	return f, content
}
