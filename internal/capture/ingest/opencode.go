package ingest

import (
	"strings"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// OpenCodeRefusal derives from the error text of a tool call in OpenCode whether the call was
// denied or interrupted. Both results are empty for other errors.
func OpenCodeRefusal(text string) (events.ToolStatus, events.DeniedBy) {
	switch {
	case strings.HasPrefix(text, "The user rejected permission to use this specific tool call"):
		return events.ToolDenied, events.DeniedByUser
	case strings.HasPrefix(text, "The user has specified a rule which prevents you from using this specific tool call"):
		return events.ToolDenied, events.DeniedByPermissions
	case text == "Tool execution aborted":
		return events.ToolInterrupted, ""
	}
	return "", ""
}
