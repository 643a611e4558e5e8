package agents

import (
	"path/filepath"
	"strings"
)

// Agent is a coding agent.
type Agent struct {
	Name    string // of publisher install
	Package string // of npm
	Trusts  bool   // it runs the hooks of a project only after publisher install --trust

	command  string
	args     []string
	env      []string
	settings map[string]string // text by file; {URL} stands for the address of the model

	transcript string   // pattern of the files below the home folder
	export     []string // arguments that print the transcript of a session instead, before its id
}

// All are the agents.
var All = []Agent{
	{
		Name: "claude-code", Package: "@anthropic-ai/claude-code", command: "claude",
		transcript: ".claude/projects/*/*.jsonl",
		args:       []string{"-p", prompt, "--dangerously-skip-permissions"},
		env: []string{
			"ANTHROPIC_BASE_URL={URL}", "ANTHROPIC_API_KEY=sk-x", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
			"IS_SANDBOX=1", // it refuses to run as root elsewhere
		},
	},
	{
		Name: "codex", Package: "@openai/codex", command: "codex", Trusts: true,
		transcript: ".codex/sessions/*/*/*/rollout-*.jsonl",
		args:       []string{"exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", prompt},
		settings: map[string]string{"home/.codex/config.toml": `model = "m"
model_provider = "x"
[model_providers.x]
name = "x"
base_url = "{URL}/v1"
wire_api = "responses"
`},
	},
	{
		Name: "gemini-cli", Package: "@google/gemini-cli", command: "gemini", Trusts: true,
		transcript: ".gemini/tmp/*/chats/*",
		args:       []string{"-y", "-m", "gemini-2.5-flash", "-p", prompt},
		env:        []string{"GEMINI_API_KEY=x", "GOOGLE_GEMINI_BASE_URL={URL}"},
		settings: map[string]string{
			"home/.gemini/settings.json": `{"security":{"auth":{"selectedType":"gemini-api-key"},"folderTrust":{"enabled":true}}}`,
		},
	},
	{
		Name: "copilot-cli", Package: "@github/copilot", command: "copilot", Trusts: true,
		transcript: ".copilot/session-state/*/events.jsonl",
		args:       []string{"-p", prompt, "--allow-all-tools"},
		env: []string{
			"COPILOT_OFFLINE=true", "COPILOT_PROVIDER_BASE_URL={URL}/v1", "COPILOT_PROVIDER_API_KEY=x", "COPILOT_MODEL=m",
		},
	},
	{
		Name: "opencode", Package: "opencode-ai", command: "opencode",
		export: []string{"export"},
		args:   []string{"run", prompt},
		env: []string{
			"npm_config_fetch_retries=0", // it installs its plugin library, and would wait for a minute
			"OPENCODE_DISABLE_MODELS_FETCH=1",
		},
		settings: map[string]string{"project/opencode.json": `{
"model": "x/m", "permission": "allow", "autoupdate": false, "provider": {"x": {
	"npm": "@ai-sdk/openai-compatible", "name": "x", "options": {"baseURL": "{URL}/v1", "apiKey": "x"}, "models": {"m": {"name": "m"}}
}}}`},
	},
}

const prompt = "follow the script"

func (a *Agent) program(modules string) string {
	return filepath.Join(modules, ".bin", a.command)
}

func withURL(text, url string) string { return strings.ReplaceAll(text, "{URL}", url) }
