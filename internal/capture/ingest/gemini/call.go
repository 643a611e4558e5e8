package gemini

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

type toolCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Args      json.RawMessage `json:"args"`
	Result    json.RawMessage `json:"result"`
	Status    string          `json:"status"`
	Timestamp string          `json:"timestamp"`
	Agent     string          `json:"agentId"`
}

func (c *chat) call(m message, i int, text json.RawMessage) {
	var k toolCall
	if json.Unmarshal(text, &k) != nil || k.Name == "" {
		c.other("toolCall", text)
		return
	}
	written := k.ID
	if written == "" || !ingest.Usable(written) {
		written = m.ID + "/" + strconv.Itoa(i)
	}
	p := m.origin
	p.ID += "/" + written
	id := c.callID(written, k)
	if !ingest.Usable(k.Agent) {
		k.Agent = ""
	}
	if !c.run.Called(id) {
		c.run.Call(p, id, events.ToolBeforeData{Tool: k.Name, Args: k.Args})
		if k.Agent != "" {
			c.run.Emit(p, events.SubagentStart, id, events.SubagentStartData{Subagent: k.Agent, Name: k.Name})
		}
	}
	if k.ended() && !c.run.Answered(id) {
		c.ended(p, id, k, text)
	}
}

func (c *chat) callID(written string, k toolCall) string {
	key := c.run.Run + "\x00" + written
	if c.calls[key] == "" {
		c.calls[key] = c.run.HookCall(k.Name, k.Args)
	}
	return c.calls[key]
}

func (c *chat) ended(p ingest.Origin, id string, k toolCall, text json.RawMessage) {
	started := p.Time
	if at, ok := ingest.Time(k.Timestamp); ok {
		p.Time = at
		c.run.Touch(at)
	}
	data := k.result()
	data.Raw = ingest.Without(text, "id", "name", "args", "result", "timestamp")
	c.run.Result(p, id, data)
	if k.Agent != "" {
		c.run.Emit(p, events.SubagentStopped, id, events.SubagentStoppedData{
			Subagent: k.Agent, Name: k.Name, Status: string(data.Status), DurationMS: max(0, p.Time.Sub(started).Milliseconds()),
		})
	}
}

func (k toolCall) ended() bool {
	return k.Status == "success" || k.Status == "error" || k.Status == "cancelled"
}

const shell = "run_shell_command"

func (k toolCall) result() events.ToolResultData {
	return Outcome(k.Name, k.Status, k.output(), k.Result)
}

// Outcome returns the result of a tool call in Gemini CLI or in an agent derived from it. status is
// success, error or cancelled, and said is the output of the tool.
func Outcome(tool, status, said string, result json.RawMessage) events.ToolResultData {
	data := events.ToolResultData{Status: events.ToolSuccess, Result: result}
	ran, failed := false, false
	if tool == shell {
		data.ExitCode, ran, failed = ended(said)
	}
	if status == "success" && !failed {
		return data
	}
	data.Status = events.ToolError
	data.Error, data.Result = ingest.Failed(cmp.Or(said, status), result)
	switch {
	case status == "cancelled" && personText.MatchString(said):
		data.Status, data.DeniedBy, data.Error.Class = events.ToolDenied, events.DeniedByUser, "rejected"
	case status == "cancelled":
		data.Status, data.Error.Class = events.ToolInterrupted, "interrupted"
	case !ran && !OfServer(tool): // a command that ran chose its output, and a server its answer
		blocked(&data, said)
	}
	return data
}

func ended(said string) (exit *int, ran, failed bool) {
	if code, ok := exitCode(said); ok {
		return &code, true, code != 0
	}
	killed := isKilled(said)
	return nil, killed, killed
}

var (
	hookText   = regexp.MustCompile(`^(?:Tool execution blocked|Agent execution stopped by hook): `)
	policyText = regexp.MustCompile(`^(?:Error: )?Tool execution denied by policy\b`)
	personText = regexp.MustCompile(`^(?:\[Operation Cancelled\] Reason: )?User (?:did not allow tool call|denied execution)`)
)

func blocked(data *events.ToolResultData, said string) {
	switch {
	case hookText.MatchString(said):
		data.Status, data.DeniedBy, data.Error.Class = events.ToolDenied, events.DeniedByHook, "blocked_by_hook"
	case policyText.MatchString(said):
		data.Status, data.DeniedBy = events.ToolDenied, events.DeniedByPermissions
	}
}

// OfServer reports whether a tool runs in an MCP server or in a program of the project, which then
// writes its results.
func OfServer(tool string) bool {
	return strings.HasPrefix(tool, "mcp_") || strings.HasPrefix(tool, "discovered_tool_") || strings.Contains(tool, "__")
}

func (k toolCall) output() string {
	type answer struct {
		Text     string `json:"text"`
		Function struct {
			Response struct {
				Output json.RawMessage `json:"output"`
				Error  json.RawMessage `json:"error"`
			} `json:"response"`
		} `json:"functionResponse"`
	}
	var list []answer
	if json.Unmarshal(k.Result, &list) != nil {
		return ingest.Flatten(k.Result)
	}
	var parts []string
	for _, a := range list {
		for _, text := range []string{ingest.Text(a.Function.Response.Error), ingest.Text(a.Function.Response.Output), a.Text} {
			if text != "" {
				parts = append(parts, text)
			}
		}
	}
	return strings.Join(parts, "\n")
}

var trailer = []string{"Error: ", "Exit Code: ", "Signal: ", "Background PIDs: ", "Process Group PGID: ", "</untrusted_context>"}

func exitCode(text string) (code int, ok bool) {
	for text != "" {
		before, line := cutLast(text)
		if line != "" && !isTrailer(line) {
			return 0, false
		}
		if digits, ok := strings.CutPrefix(line, "Exit Code: "); ok {
			n, err := strconv.Atoi(digits)
			return n, err == nil
		}
		text = before
	}
	return 0, false
}

func isKilled(text string) bool {
	for text != "" {
		before, line := cutLast(text)
		if line != "" && !isTrailer(line) {
			return false
		}
		if signal, ok := strings.CutPrefix(line, "Signal: "); ok {
			return signal != "(none)"
		}
		text = before
	}
	return false
}

func isTrailer(line string) bool {
	return slices.ContainsFunc(trailer, func(begin string) bool { return strings.HasPrefix(line, begin) })
}

func cutLast(text string) (before, line string) {
	i := strings.LastIndexByte(text, '\n')
	return text[:max(0, i)], strings.TrimSpace(text[i+1:])
}
