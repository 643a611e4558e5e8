package claude

import (
	"encoding/json"
	"strings"

	"github.com/hooktrail/hooktrail/internal/ingest"
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

// apiFailure returns the failure of an API call from its text and from the
// class that newer transcripts give it.
func apiFailure(message string, class json.RawMessage) *events.Failure {
	f := &events.Failure{Message: ingest.Clip(message, ingest.MaxMessage), Class: "api_error"}
	lower := strings.ToLower(ingest.Text(class) + " " + message)
	for _, c := range errorClasses {
		if strings.Contains(lower, c.text) {
			f.Class = c.class
			break
		}
	}
	return f
}

// toolFailure returns the failure of a tool call, and the result where the
// failure does not say all of it.
func toolFailure(content json.RawMessage) (*events.Failure, json.RawMessage) {
	message := ingest.Flatten(content)
	f := &events.Failure{Message: ingest.Clip(message, ingest.MaxMessage)}
	switch {
	case strings.HasPrefix(message, "The user doesn't want to"), strings.HasPrefix(message, interruption):
		f.Class = "rejected"
	case strings.Contains(message, "hook blocking error"):
		f.Class = "blocked_by_hook"
	case strings.HasPrefix(message, "Command timed out"):
		f.Class = "timeout"
	}
	if len(content) > 0 && content[0] == '"' && len(message) <= ingest.MaxMessage {
		return f, nil
	}
	return f, content
}
