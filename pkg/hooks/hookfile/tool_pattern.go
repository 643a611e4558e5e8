package hookfile

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy"
)

const maxAlternatives = 100

// toolPattern is a compiled pattern of match.tool. Its alternatives are names and globs as in
// [policy.ForTool], regular expressions as in matchers of Claude Code, and rules such as
// Bash(rm *).
type toolPattern struct {
	anyOf

	unknown []string // alternatives that match no tool of a known agent
}

type anyOf []hooks.Matcher

// Match implements [hooks.Matcher].
func (a anyOf) Match(meta hooks.Meta, s hooks.Subject) bool {
	for _, m := range a {
		if m.Match(meta, s) {
			return true
		}
	}
	return false
}

func compileTool(text string) (toolPattern, error) {
	alternatives, err := alternativesOf(text)
	if err != nil {
		return toolPattern{}, err
	}
	var p toolPattern
	for _, one := range alternatives {
		names, args, err := compileAlternative(one)
		if err != nil {
			return toolPattern{}, err
		}
		if args == nil {
			p.anyOf = append(p.anyOf, names)
		} else {
			p.anyOf = append(p.anyOf, hooks.All(names, args))
		}
		if !mayExist(one, names) {
			p.unknown = append(p.unknown, one)
		}
	}
	return p, nil
}

func compileAlternative(text string) (names, args hooks.Matcher, err error) {
	if tool, rule, ok := asRule(text); ok {
		return compileRule(tool, rule)
	}
	if !isRegexp(text) {
		names, err = policy.ForTool(text)
		return names, nil, err
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, nil, fmt.Errorf("regular expression %q cannot be compiled; it has the syntax of Go, without look-ahead", clip(text))
	}
	m := regexpMatcher{re: re}
	if glob, err := policy.ForTool(text); err == nil {
		return anyOf{m, glob}, nil, nil // "own.*" is both, and a guard matches more rather than less
	}
	return m, nil, nil
}

type regexpMatcher struct{ re *regexp.Regexp }

// Match implements [hooks.Matcher].
func (m regexpMatcher) Match(_ hooks.Meta, s hooks.Subject) bool {
	return s.Tool != "" && (m.re.MatchString(s.Tool) || m.re.MatchString(policy.CanonicalTool(s.Tool)))
}

var regexpSyntax = regexp.MustCompile(`[\^$+()|]|\.[*+?{]|\]\*|\\[a-zA-Z.]|\{\d+(,\d*)?\}`)

func isRegexp(text string) bool { return regexpSyntax.MatchString(text) }

// alternativesOf splits "Edit|Write" and "{Edit,Write}*". Groups of a regular expression and
// the parentheses of a rule stay together.
func alternativesOf(text string) ([]string, error) {
	var all []string
	for _, part := range splitOutside(text, "|,") {
		expanded := expandBraces(strings.TrimSpace(part))
		if len(all)+len(expanded) > maxAlternatives {
			return nil, fmt.Errorf("more than %d alternatives", maxAlternatives)
		}
		all = append(all, expanded...)
	}
	if slices.Contains(all, "") {
		return nil, errors.New("an alternative is empty; leave out one separator")
	}
	return all, nil
}

func splitOutside(text, separators string) []string {
	var parts []string
	depth, start := 0, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth = max(depth-1, 0)
		case depth == 0 && strings.IndexByte(separators, c) >= 0:
			parts = append(parts, text[start:i])
			start = i + 1
		}
	}
	return append(parts, text[start:])
}

var braces = regexp.MustCompile(`^([^(\\{}]*)\{([^{}]*,[^{}]*)\}([^{}]*)$`)

func expandBraces(text string) []string {
	m := braces.FindStringSubmatch(text)
	if m == nil || strings.Trim(m[2], "0123456789,") == "" { // {2,3} is a repetition
		return []string{text}
	}
	var all []string
	for word := range strings.SplitSeq(m[2], ",") {
		all = append(all, m[1]+strings.TrimSpace(word)+m[3])
	}
	return all
}

// agentTools has the names of tools of known agents.
const agentTools = `
Agent AskUserQuestion Bash BashOutput CronCreate CronDelete CronList Edit EnterPlanMode EnterWorktree ExitPlanMode
ExitWorktree Glob Grep KillBash KillShell ListMcpResourcesTool LS LSP Monitor MultiEdit NotebookEdit NotebookRead
PowerShell Read ReadMcpResourceTool SendMessage Skill SlashCommand StructuredOutput Task TaskCreate TaskGet TaskList
TaskOutput TaskStop TaskUpdate TeamCreate TeamDelete TodoRead TodoWrite ToolSearch WebFetch WebSearch Write
activate_skill ask_user cli_help codebase_investigator complete_task enter_plan_mode exit_plan_mode get_internal_docs
glob google_web_search grep_search invoke_agent list_directory read_file read_many_files replace run_shell_command
save_memory search_file_content tracker_create_task update_topic web_fetch write_file write_todos
apply_patch close_agent exec_command image_generation js_repl list_mcp_resource_templates list_mcp_resources
local_shell read_mcp_resource request_permissions request_user_input resume_agent send_input shell shell_command
spawn_agent tool_search unified_exec update_plan view_image wait wait_agent web_search write_stdin
bash create edit fetch_copilot_cli_documentation grep list_agents list_bash powershell read_agent read_bash
report_intent rg show_file skill sql stop_bash store_memory str_replace_editor task task_complete update_todo view
write_bash
batch codesearch list lsp multiedit patch plan_enter plan_exit question read todoread todowrite webfetch websearch write
browser browser_action delegate edit_file execute_bash execute_ipython_cell file_editor finish
str_replace_based_edit_tool task_tracker terminal think
create_directory create_file file_search get_errors insert_edit_into_file list_dir replace_string_in_file runInTerminal
runSubagent runTests run_in_terminal semantic_search
ask_followup_question attempt_completion execute_command list_code_definition_names list_files load_mcp_documentation
new_task plan_mode_respond replace_in_file search_files switch_mode use_mcp_tool access_mcp_resource use_skill
write_to_file
codebase_search delete_file Delete run_terminal_cmd search_replace Shell StrReplace
load_skill recipes todo`

var toolNames = sync.OnceValue(func() []string { return strings.Fields(agentTools) })

func isKnownTool(name string) bool {
	canonical := policy.CanonicalTool(name)
	return canonical != name || slices.Contains(toolNames(), name)
}

// mayExist reports whether a known agent has a tool for the alternative. Names with the prefix of a
// server or package belong to tools that this package cannot know.
func mayExist(alternative string, names hooks.Matcher) bool {
	if strings.Contains(alternative, "__") || strings.Contains(alternative, "mcp") {
		return true
	}
	if !isRegexp(alternative) && !strings.ContainsAny(alternative, "*?[{") {
		return strings.ContainsAny(alternative, ".:/") || isKnownTool(alternative)
	}
	return slices.ContainsFunc(toolNames(), func(name string) bool {
		return names.Match(hooks.Meta{}, hooks.Subject{Tool: name})
	})
}
