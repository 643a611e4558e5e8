package claude

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Outcome returns the status of a tool call that Claude Code reports as an error. For a denied
// call, by says who denied it. kind is the field toolDenialKind, which older versions do not write.
//
// Without a kind, the status depends on the text of the error. If a command or an MCP server has
// written the text, the status is always ToolError. The agent can influence such text, so it could
// imitate a denial. It also chooses the names of files, so other text counts only if its whole first
// line is one that Claude Code writes.
func Outcome(tool, kind, text string) (status events.ToolStatus, by events.DeniedBy) {
	first, _, _ := strings.Cut(text, "\n")
	switch {
	case kind == "interrupted", kind == "cancelled":
		return events.ToolInterrupted, ""
	case kind == "" && (strings.HasPrefix(first, "Exit code ") || OfServer(tool)):
		return events.ToolError, ""
	case stopped(text):
		return events.ToolInterrupted, ""
	case hasPrefix(text, personRefused):
		return events.ToolDenied, events.DeniedByUser
	case hookLine().MatchString(first):
		return events.ToolDenied, events.DeniedByHook
	case hasPrefix(text, rulesRefused), kind != "", ruleLine().MatchString(first):
		return events.ToolDenied, events.DeniedByPermissions
	}
	return events.ToolError, ""
}

// OfServer reports whether the tool belongs to an MCP server, which then writes its results.
func OfServer(tool string) bool { return strings.HasPrefix(tool, "mcp__") }

const interruption = "[Request interrupted by user"

var (
	notCompleted  = []string{"[Request interrupted", "[Tool call ", "[Agent call ", "[This turn ended before it finished.]", "Command aborted before execution"}
	personRefused = []string{
		"The user doesn't want to", "User rejected tool use", "The agent proposed a plan that was rejected by the user",
		"User rejected Claude's plan", "User declined to answer questions",
	}
	rulesRefused = []string{"Permission to ", "Permission for this ", "Permission for ", "Claude requested permission"}
)

// ruleLine matches the first line of a tool result if a permission rule refused the call.
var ruleLine = ingest.Pattern(`^(?:<tool_use_error>)?(?:` + strings.Join([]string{
	`[A-Za-z][\w -]{0,40} (?:in|of|to|from|targeting) '.*' was blocked(?: by a deny rule\.?|\. For security, Claude Code may only .*)`,
	`[A-Za-z][\w -]{0,40}(?: in '.*')? needs approval\. The path is .*`,
	`(?:This|The) (?:\w+ )?(?:command|skill|connector) (?:requires|needs) approval.*`,
	`(?:This|The following) \w+ command contains multiple operations.* requires? approval.*`,
	`The [^']{1,80} connector requires approval for this call\.`,
	`The parts of this pipe can't be checked one by one, so the command needs approval`,
	`This call has not run: .* needs approval\..*`,
	`(?:sed command|Multiple directory changes in one command|Compound commands?) .*requires? approval.*`,
	`(?:Current permission mode \([\w ]+\)|Permission rule '[^']*') requires approval for this .*`,
	`Command argument '[^']*' uses a non-filesystem provider path and requires approval`,
	`File is in a directory that is denied by your permission settings\.`,
	`File is covered by a Read deny rule in your permission settings\.`,
	`Agent type '[^']*' has been denied by permission rule '[^']*' from [\w ]+\.?`,
}, "|") + `)(?:</tool_use_error>)?$`)

// hookLine matches the first line of a tool result if a hook refused the call.
var hookLine = ingest.Pattern(`^(?:` + strings.Join([]string{
	`(?:PreToolUse|PermissionRequest):.* hook (?:error|blocking error from command: ).*`,
	`Hook PreToolUse:.*`,
	`Permission denied by (?:PermissionRequest )?hook.*`,
	`\w+ operation blocked by hook:`,
	`\w+(?: \w+)? stopped by hook(?:: .*)?`,
}, "|") + `)$`)

func hasPrefix(text string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(text, p) })
}

var bashFailures = []string{"Exit code ", "<tool_use_error>", "Command timed out", "ENOENT", "EACCES", "spawn ", "Error", "InputValidationError"}

func stopped(text string) bool {
	return hasPrefix(text, notCompleted) ||
		hasPrefix(text, personRefused) && strings.Contains(text, "this call was stopped while running, not refused before it ran")
}

func (r *run) failed(data *events.ToolResultData, id, kind string, content json.RawMessage) {
	message := ingest.Flatten(content)
	data.Status, data.DeniedBy = Outcome(r.Tool(id), kind, message)
	if data.Status == events.ToolError && r.hooked[id] && r.Tool(id) == "Bash" && !hasPrefix(message, bashFailures) {
		data.Status, data.DeniedBy = events.ToolDenied, events.DeniedByHook // the text is the reason of the hook
	}
	data.Error, data.Result = ingest.Failed(message, content)
	data.ExitCode = exitCode(content)
	switch {
	case data.DeniedBy == events.DeniedByUser:
		data.Error.Class = "rejected"
	case data.DeniedBy == events.DeniedByHook:
		data.Error.Class = "blocked_by_hook"
	case data.Status == events.ToolInterrupted:
		data.Error.Class = "interrupted"
	case strings.HasPrefix(message, "Command timed out"):
		data.Error.Class = "timeout"
	}
}

func (r *run) answered(l *line) {
	s := r.Step()
	before := s.Status
	if text := l.messageText(); text != "" {
		s.Answer(text)
	}
	switch {
	case l.msg.Model == events.SyntheticModel:
		s.Status = before
	case len(l.blocks) > 0 && l.blocks[len(l.blocks)-1].Type != "text", strings.TrimSpace(l.messageText()) == "",
		!slices.Contains(turnStops, l.msg.StopReason):
		s.Status = ""
	}
}

var turnStops = []string{"", "end_turn", "stop_sequence"}

func (r *run) turnEnded() {
	if s := r.Step(); s != nil && s.Status == "" {
		s.Status = events.StepCompleted
	}
}

func (r *run) interrupted() {
	if s := r.Step(); s != nil {
		s.Status = events.StepInterrupted
		s.Metadata = map[string]any{"interrupted": true}
	}
}
