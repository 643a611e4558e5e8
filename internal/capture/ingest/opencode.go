package ingest

import (
	"strings"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// OpenCodeRefusal returns the status of a call that was denied or interrupted in OpenCode, from the
// error text of the call. The status is empty for other errors.
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
