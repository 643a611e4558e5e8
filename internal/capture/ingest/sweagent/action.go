package sweagent

import (
	"encoding/json"
	"strings"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

var ownCommands = func() map[string]bool {
	set := map[string]bool{}
	for name := range strings.FieldsSeq(`create edit insert open goto scroll_up scroll_down search_dir search_file find_file filemap
		str_replace_editor submit exit_forfeit view_image click_mouse double_click_mouse drag_mouse move_mouse close_site open_site
		execute_script_on_page get_console_output navigate_back navigate_forward press_keys_on_page reload_page screenshot_site
		scroll_on_page set_browser_window_size type_text wait_time connect_start connect_sendline connect_exec connect_stop
		debug_start debug_add_breakpoint debug_continue debug_step debug_exec debug_stop decompile disassemble`) {
		set[name] = true
	}
	return set
}()

const shell = "bash"

func toolOf(action string) (tool string, args json.RawMessage) {
	trimmed := strings.TrimSpace(action)
	name, arguments := trimmed, ""
	if i := strings.IndexAny(trimmed, " \t\n"); i >= 0 {
		name, arguments = trimmed[:i], trimmed[i+1:]
	}
	if !ownCommands[name] {
		return shell, ingest.JSON(map[string]string{"command": action})
	}
	return name, ingest.JSON(map[string]string{"arguments": arguments})
}

func submits(tool, action string) bool {
	return tool == "submit" || tool == shell && (strings.Contains(action, "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT") ||
		strings.Contains(action, "MINI_SWE_AGENT_FINAL_OUTPUT"))
}

func notRun(observation string) string {
	switch {
	case strings.HasPrefix(observation, "Your bash command contained syntax errors and was NOT executed."):
		return "syntax"
	case strings.HasPrefix(observation, "The command '") && strings.Contains(observation, "' was cancelled because it took more than "):
		return "timeout"
	case timedOut(observation):
		return "timeout"
	case strings.HasPrefix(observation, "Your proposed edit has introduced new syntax error(s)."):
		return "edit_refused"
	}
	return ""
}

func timedOut(observation string) bool {
	const tail = 400
	text := strings.TrimSpace(observation)
	text = text[max(0, len(text)-tail):]
	return strings.HasPrefix(text, "EXECUTION TIMED OUT") || strings.Contains(text, "\nEXECUTION TIMED OUT")
}

func observed(observation string) events.ToolResultData {
	text := ingest.JSON(observation)
	data := events.ToolResultData{Status: events.ToolSuccess, Result: text}
	if class := notRun(observation); class != "" {
		data.Status = events.ToolError
		data.Error, data.Result = ingest.Failed(observation, text)
		data.Error.Class = class
	}
	return data
}
