package ingest

import (
	"strings"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// OpenCodeRefusal reads the error of a call of OpenCode, in hooks and exported sessions. The status
// is empty if the call was not stopped.
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
