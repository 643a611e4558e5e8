package policy

import "github.com/hooktrail/hooktrail/pkg/hooks/toolname"

// Canonical names of tools.
const (
	ToolShell = toolname.Shell
	ToolWrite = toolname.Write
	ToolEdit  = toolname.Edit
	ToolAgent = toolname.Agent
	ToolAsk   = toolname.Ask
	ToolRead  = toolname.Read
	ToolFetch = toolname.Fetch
	ToolQuery = toolname.Query
	ToolTodo  = toolname.Todo
)

// CanonicalTool returns the common name of a tool, see [toolname.Canonical].
func CanonicalTool(tool string) string { return toolname.Canonical(tool) }

func squash(name string) string { return toolname.Squash(name) }
