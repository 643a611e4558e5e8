package dialogue

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type piLine struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Timestamp string          `json:"timestamp"`
	Cwd       string          `json:"cwd"`
	Version   json.RawMessage `json:"version"`
	Model     string          `json:"modelId"`
	Message   piMessage       `json:"message"`
}

type piMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Model   string          `json:"model"`
	Usage   json.RawMessage `json:"usage"`
	Stop    string          `json:"stopReason"`
	Error   string          `json:"errorMessage"`

	Call    string `json:"toolCallId"` // of a toolResult
	Tool    string `json:"toolName"`
	IsError bool   `json:"isError"`

	Command   string `json:"command"` // of a bashExecution, which the user runs
	Output    string `json:"output"`
	Exit      *int   `json:"exitCode"`
	Cancelled bool   `json:"cancelled"`
}

func pi(raw json.RawMessage) (entry, error) {
	var l piLine
	if err := json.Unmarshal(raw, &l); err != nil {
		return entry{}, err
	}
	e := entry{id: l.ID, when: l.Timestamp, name: l.Type}
	switch l.Type {
	case "session":
		e.role, e.session, e.about = silent, l.ID, about{Cwd: l.Cwd}
	case "compaction":
		e.role = compaction
	case "message":
		return e, l.Message.fill(&e)
	}
	return e, nil
}

func (m *piMessage) fill(e *entry) (err error) {
	switch m.Role {
	case "user":
		e.role = user
		e.parts, err = blocks(m.Content)
	case "assistant":
		e.role = assistant
		e.parts, err = blocks(m.Content)
		m.answered(e)
	case "toolResult":
		e.role = user
		e.parts = []part{{kind: result, id: m.Call, tool: m.Tool, raw: m.Content, outcome: m.result()}}
	case "bashExecution":
		e.role = assistant
		e.parts = []part{{kind: call, tool: "bash", args: ingest.JSON(map[string]string{"command": m.Command}), outcome: m.executed()}}
	default:
		e.name = "message." + ingest.Clip(m.Role, maxName)
	}
	return err
}

func (m *piMessage) answered(e *entry) {
	var u struct {
		Input  float64 `json:"input"`
		Output float64 `json:"output"`
		Read   float64 `json:"cacheRead"`
		Write  float64 `json:"cacheWrite"`
		Cost   struct {
			Total float64 `json:"total"`
		} `json:"cost"`
	}
	e.model, e.stop = m.Model, m.Stop
	if len(m.Usage) > 0 && json.Unmarshal(m.Usage, &u) == nil {
		e.tokens, e.usage, e.cost = counts(u.Input, u.Output, u.Read, u.Write), m.Usage, u.Cost.Total
	}
	switch m.Stop {
	case "aborted":
		e.interrupted = true
	case "error":
		e.failure = &events.Failure{Message: ingest.Clip(cmp.Or(m.Error, "failed, and does not say why"), ingest.MaxMessage), Class: ingest.FailureClass(m.Error)}
	}
}

var (
	// piTools are the built-in tools of pi. Extensions add other tools, and choose the texts of
	// their results.
	piTools   = []string{"bash", "edit", "find", "grep", "ls", "read", "write"}
	piAborted = regexp.MustCompile(`(?:^Operation|(?:^|\n)Command) aborted$`)
	piBlocked = regexp.MustCompile(`^Tool execution was blocked[^\n]*$`)
)

func (m *piMessage) result() events.ToolResultData {
	data := told(m.IsError, m.Content)
	said := strings.TrimSpace(ingest.Flatten(m.Content))
	if !m.IsError {
		return data
	}
	data.ExitCode = lastExit(said)
	switch {
	case data.ExitCode != nil, !slices.Contains(piTools, m.Tool): // the output of a command, or the text of an extension
	case piAborted.MatchString(said):
		data.Status, data.Error.Class = events.ToolInterrupted, "interrupted"
	case piBlocked.MatchString(said):
		data.Status, data.DeniedBy, data.Error.Class = events.ToolDenied, events.DeniedByHook, "blocked_by_hook"
	}
	return data
}

func (m *piMessage) executed() events.ToolResultData {
	data := told(m.Exit != nil && *m.Exit != 0, ingest.JSON(m.Output))
	data.ExitCode = m.Exit
	if m.Cancelled {
		data.Status, data.Error = events.ToolInterrupted, &events.Failure{Message: "cancelled", Class: "interrupted"}
	}
	return data
}
