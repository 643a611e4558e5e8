package install

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

type tool struct {
	trust         trust
	shell         func(env func(string) string) []string // runs a hook command; nil for /bin/sh
	name          string
	project       string
	user          func(home string, env func(string) string) string
	events        []string
	entry         func(c caller) any
	top           []setting
	note          string                   // a further step that the user must take
	eventArgument bool                     // the command names the event, because the payload does not
	plugin        bool                     // the whole file belongs to Hooktrail
	userShell     bool                     // the agent runs hooks in the shell of the user
	asksForFolder bool                     // it runs hooks of a project after a person accepts its dialog about the folder
	limits        map[string]time.Duration // the longest timeouts that the agent accepts, by event
}

type setting struct {
	key   string
	value any
}

var tools = []tool{
	{
		name: "claude-code", project: ".claude/settings.json",
		user: below("CLAUDE_CONFIG_DIR", ".claude", "settings.json"),
		events: []string{
			"SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure",
			"Notification", "SubagentStart", "SubagentStop", "PreCompact", "Stop", "SessionEnd",
		},
		entry: group(seconds), asksForFolder: true,
	},
	{
		name: "codex", project: ".codex/hooks.json",
		user: below("CODEX_HOME", ".codex", "hooks.json"),
		events: []string{
			"SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse",
			"SubagentStart", "SubagentStop", "PreCompact", "PostCompact", "Stop", "SessionEnd",
		},
		entry: group(seconds), userShell: true, trust: codexTrust, shell: shellOf,
		limits: map[string]time.Duration{"SessionEnd": 3 * time.Second},
		note:   "Codex runs these hooks after you trust them: open /hooks in it, or repeat this with --trust.",
	},
	{
		name: "copilot-cli", project: ".github/hooks/hooktrail.json",
		user: below("COPILOT_HOME", ".copilot", "hooks/hooktrail.json"),
		events: []string{
			"sessionStart", "userPromptSubmitted", "preToolUse", "permissionRequest", "postToolUse", "postToolUseFailure",
			"subagentStart", "subagentStop", "errorOccurred", "preCompact", "agentStop", "sessionEnd",
		},
		entry: flat, eventArgument: true, trust: copilotTrust, shell: bash,
		top: []setting{{"version", 1}},
	},
	{
		name: "gemini-cli", project: ".gemini/settings.json",
		user: func(home string, _ func(string) string) string {
			return filepath.Join(home, ".gemini", "settings.json")
		},
		// The model events are missing here, because Gemini CLI sends them for each piece of an
		// answer, each time with the whole conversation.
		events: []string{
			"SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "Notification", "PreCompress", "AfterAgent", "SessionEnd",
		},
		entry: group(milliseconds), trust: geminiTrust, shell: bash,
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

// Names returns the sorted names of the agents whose configuration can be written.
func Names() []string {
	names := make([]string, len(tools))
	for i := range tools {
		names[i] = tools[i].name
	}
	return names
}

func (t *tool) timeout(opts Options, event string) time.Duration {
	if limit, ok := t.limits[event]; ok {
		return min(opts.Timeout, limit)
	}
	return opts.Timeout
}

func named(name string) (*tool, error) {
	i := slices.IndexFunc(tools, func(t tool) bool { return t.name == name })
	if i < 0 {
		return nil, fmt.Errorf("unknown tool %q; there are %s", name, strings.Join(Names(), ", "))
	}
	return &tools[i], nil
}

func below(variable, folder, file string) func(string, func(string) string) string {
	return func(home string, env func(string) string) string {
		if dir := env(variable); dir != "" {
			return filepath.Join(dir, file)
		}
		return filepath.Join(home, folder, file)
	}
}

func bash(func(string) string) []string { return []string{"bash", "-c"} }

func shellOf(env func(string) string) []string {
	return []string{cmp.Or(env("SHELL"), "/bin/sh"), "-c"}
}

type caller struct {
	command string
	timeout time.Duration
}

func seconds(d time.Duration) int64      { return int64((d + time.Second - 1) / time.Second) }
func milliseconds(d time.Duration) int64 { return d.Milliseconds() }

type handler struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int64  `json:"timeout"`
}

func group(unit func(time.Duration) int64) func(caller) any {
	return func(c caller) any {
		return struct {
			Hooks []handler `json:"hooks"`
		}{[]handler{{Type: "command", Command: c.command, Timeout: unit(c.timeout)}}}
	}
}

func flat(c caller) any {
	return struct {
		Type    string `json:"type"`
		Bash    string `json:"bash"`
		Timeout int64  `json:"timeoutSec"`
	}{"command", c.command, seconds(c.timeout)}
}
