package codex

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type ending struct {
	failed     bool
	message    string
	class      string
	exit       *int
	durationMS int64
	server     bool // an MCP server wrote the output

	status events.ToolStatus // empty for an error
	by     events.DeniedBy
}

type complaint struct {
	text, class string
	status      events.ToolStatus // empty for an error
	by          events.DeniedBy
}

var complaints = []complaint{
	{text: "exec_command failed"},
	{text: "write_stdin failed"},
	{text: "apply_patch verification failed"},
	{text: "apply_patch handler received"},
	{text: "failed to parse function arguments"},
	{text: "failed to parse exec_command arguments"},
	{text: "unsupported call:"},
	{text: "unsupported custom tool call:"},
	{text: "tool call error:"},
	{text: "execution error:"},
	{text: "failed in sandbox"},
	{text: "failed: "},
	{text: "command timed out after", class: "timeout"},
	{text: "rejected by user", class: "rejected", status: events.ToolDenied, by: events.DeniedByUser},
	{text: "patch rejected by user", class: "rejected", status: events.ToolDenied, by: events.DeniedByUser},
	{text: "exec command rejected by user", class: "rejected", status: events.ToolDenied, by: events.DeniedByUser},
	{text: "command rejected by user", class: "rejected", status: events.ToolDenied, by: events.DeniedByUser},
	{text: "patch rejected: writing is blocked by read-only sandbox", class: "rejected", status: events.ToolDenied, by: events.DeniedBySandbox},
	{text: "Command denied by sandbox: ", class: "rejected", status: events.ToolDenied, by: events.DeniedBySandbox},
	{text: "This action was rejected due to unacceptable risk.", class: "rejected", status: events.ToolDenied, by: events.DeniedByPermissions},
	{text: "patch rejected: ", class: "rejected", status: events.ToolDenied, by: events.DeniedByPermissions},
	{text: "approval policy is ", class: "rejected", status: events.ToolDenied, by: events.DeniedByPermissions},
	{text: "Command blocked by PreToolUse hook", class: "blocked_by_hook", status: events.ToolDenied, by: events.DeniedByHook},
	{text: "Tool call blocked by PreToolUse hook", class: "blocked_by_hook", status: events.ToolDenied, by: events.DeniedByHook},
	{text: "aborted by user", class: "interrupted", status: events.ToolInterrupted},
	{text: "aborted", class: "interrupted", status: events.ToolInterrupted},
}

func (e *ending) read(output json.RawMessage) {
	var old struct {
		Success *bool           `json:"success"` // for outputs that are objects
		Content json.RawMessage `json:"content"`
	}
	text := ingest.Flatten(output)
	if len(output) > 0 && output[0] == '{' {
		lenient(output, &old)
		text = ingest.Flatten(old.Content)
		if old.Success != nil && !*old.Success {
			e.failed = true
		}
	}
	if !e.readJSON(text) {
		e.readHeader(text)
	}
	e.judge(text)
	if e.exit != nil && *e.exit != 0 {
		e.failed = true
	}
	if e.failed && e.message == "" {
		e.message = text
	}
}

func (e *ending) judge(text string) {
	if e.exit != nil && *e.exit == 0 {
		return
	}
	for _, c := range complaints {
		if c.status != "" && (e.server || e.exit != nil && *e.exit > 0) {
			continue
		}
		if rest, ok := strings.CutPrefix(text, c.text); ok && (c.text != "aborted" || rest == "") {
			e.failed, e.class, e.status, e.by = true, c.class, c.status, c.by
			e.sandboxed(rest)
			return
		}
	}
}

func (e *ending) sandboxed(text string) {
	line, _, _ := strings.Cut(text, "\n")
	if m := sandboxExit.FindStringSubmatch(line); m != nil && e.exit == nil {
		if code, err := strconv.Atoi(m[1]); err == nil {
			e.exit = &code
		}
	}
}

var sandboxExit = regexp.MustCompile(`\bexit code: (\d{1,9})\b`)

func (e *ending) fill(data *events.ToolResultData, output json.RawMessage) {
	if !e.failed {
		return
	}
	data.Status, data.DeniedBy = cmp.Or(e.status, events.ToolError), e.by
	data.Error, data.Result = ingest.Failed(e.message, output)
	data.Error.Class = e.class
}

func (e *ending) readJSON(text string) bool {
	var out struct {
		Output   *string `json:"output"`
		Metadata struct {
			Exit    *int    `json:"exit_code"`
			Seconds float64 `json:"duration_seconds"`
		} `json:"metadata"`
		IsError bool            `json:"isError"`
		Content json.RawMessage `json:"content"`
	}
	if !strings.HasPrefix(text, "{") || json.Unmarshal([]byte(text), &out) != nil {
		return false
	}
	if out.Output != nil && out.Metadata.Exit != nil {
		e.exit, e.message = out.Metadata.Exit, *out.Output
		e.took(out.Metadata.Seconds)
	}
	if out.IsError && out.Content != nil {
		e.failed = true
	}
	return true
}

var headerKeys = []string{"Exit code: ", "Chunk ID: ", "Wall time: ", "Process "}

func (e *ending) readHeader(text string) {
	begins := func(key string) bool { return strings.HasPrefix(text, key) }
	header, _, found := strings.Cut(text+"\n", "\nOutput:\n")
	if !found || !slices.ContainsFunc(headerKeys, begins) {
		return
	}
	var exit *int
	seconds, timed := 0.0, false
	for line := range strings.Lines(header) {
		line = strings.TrimSpace(line)
		for _, before := range []string{"Exit code: ", "Process exited with code "} {
			if code, ok := strings.CutPrefix(line, before); ok {
				if n, err := strconv.Atoi(code); err == nil {
					exit = &n
				}
			}
		}
		if wall, ok := strings.CutPrefix(line, "Wall time: "); ok {
			n, err := strconv.ParseFloat(strings.TrimSuffix(wall, " seconds"), 64)
			seconds, timed = n, err == nil
		}
	}
	if !timed { // not a header of Codex
		return
	}
	e.took(seconds)
	if exit != nil {
		e.exit = exit
	}
}

func (e *ending) took(seconds float64) {
	if ms := seconds * 1000; e.durationMS == 0 && ms > 0 && ms < ingest.MaxCount {
		e.durationMS = int64(ms)
	}
}
