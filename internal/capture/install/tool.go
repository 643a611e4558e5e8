package install

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// tool is what is known of an agent's configuration.
type tool struct {
	name    string
	project string                                            // the file below a project
	user    func(home string, env func(string) string) string // the file of the user
	events  []string                                          // that are reported
	entry   func(c caller) any                                // what is added to the list of an event
	top     []member                                          // what the file has to say besides
	note    string                                            // what is to be done besides; may be empty

	eventArgument bool // payloads do not say which event they are of
	plugin        bool // the file is a program of ours
}

// member is a member of an object.
type member struct {
	key   string
	value any
}

// tools are in the order of their names.
var tools = []tool{
	{
		name: "claude-code", project: ".claude/settings.json",
		user: below("CLAUDE_CONFIG_DIR", ".claude", "settings.json"),
		events: []string{
			"SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure",
			"Notification", "SubagentStart", "SubagentStop", "PreCompact", "Stop", "SessionEnd",
		},
		entry: group(seconds),
	},
	{
		name: "codex", project: ".codex/hooks.json",
		user: below("CODEX_HOME", ".codex", "hooks.json"),
		events: []string{
			"SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse",
			"SubagentStart", "SubagentStop", "PreCompact", "PostCompact", "Stop", "SessionEnd",
		},
		entry: group(seconds),
		note:  "Codex runs hooks once you have reviewed them: open /hooks in it, and trust these.",
	},
	{
		name: "copilot-cli", project: ".github/hooks/hooktrail.json",
		user: below("COPILOT_HOME", ".copilot", "hooks/hooktrail.json"),
		events: []string{
			"sessionStart", "userPromptSubmitted", "preToolUse", "permissionRequest", "postToolUse", "postToolUseFailure",
			"subagentStart", "subagentStop", "errorOccurred", "preCompact", "agentStop", "sessionEnd",
		},
		entry: flat, eventArgument: true,
		top: []member{{"version", 1}},
	},
	{
		name: "gemini-cli", project: ".gemini/settings.json",
		user: func(home string, _ func(string) string) string {
			return filepath.Join(home, ".gemini", "settings.json")
		},
		// The events of the model are left out: they come with each piece of an
		// answer, and hold the whole conversation each time.
		events: []string{
			"SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "Notification", "PreCompress", "AfterAgent", "SessionEnd",
		},
		entry: group(milliseconds),
	},
	{
		name: "opencode", project: ".opencode/plugins/hooktrail.js", plugin: true,
		user: func(home string, env func(string) string) string {
			if dir := env("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
				return filepath.Join(dir, "opencode", "plugins", "hooktrail.js")
			}
			return filepath.Join(home, ".config", "opencode", "plugins", "hooktrail.js")
		},
	},
}

// Names returns the tools whose configuration can be written, sorted.
func Names() []string {
	names := make([]string, len(tools))
	for i := range tools {
		names[i] = tools[i].name
	}
	return names
}

func named(name string) (*tool, error) {
	i := slices.IndexFunc(tools, func(t tool) bool { return t.name == name })
	if i < 0 {
		return nil, fmt.Errorf("tool %q: not known; there are %s", name, strings.Join(Names(), ", "))
	}
	return &tools[i], nil
}

// below returns where a file of the user is: in the folder that a variable
// names, else in one of the home folder.
func below(variable, folder, file string) func(string, func(string) string) string {
	return func(home string, env func(string) string) string {
		if dir := env(variable); dir != "" {
			return filepath.Join(dir, file)
		}
		return filepath.Join(home, folder, file)
	}
}

// caller is how a tool calls us.
type caller struct {
	command string
	timeout time.Duration
}

// The units that tools have timeouts in.
func seconds(d time.Duration) int64      { return int64((d + time.Second - 1) / time.Second) }
func milliseconds(d time.Duration) int64 { return d.Milliseconds() }

// handler is a command of a group. Claude Code, Codex and Gemini CLI share it.
type handler struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int64  `json:"timeout"`
}

// group returns the entry of tools that group their hooks by what they match:
// ours match everything.
func group(unit func(time.Duration) int64) func(caller) any {
	return func(c caller) any {
		return struct {
			Hooks []handler `json:"hooks"`
		}{[]handler{{Type: "command", Command: c.command, Timeout: unit(c.timeout)}}}
	}
}

// flat is the entry of Copilot CLI.
func flat(c caller) any {
	return struct {
		Type    string `json:"type"`
		Bash    string `json:"bash"`
		Timeout int64  `json:"timeoutSec"`
	}{"command", c.command, seconds(c.timeout)}
}
