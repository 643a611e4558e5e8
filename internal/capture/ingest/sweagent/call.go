package sweagent

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type called struct {
	id, tool, action string
	args             json.RawMessage
}

var fenced = regexp.MustCompile("(?s)```(?:mswea_bash_command|bash)[ \t]*\r?\n(.*?)\r?\n?```")

// calls returns no call for a text with several commands, because the agent runs none of them.
func (m *message) calls() []called {
	switch {
	case len(m.Extra.Actions) > 0:
		var list []called
		for _, a := range m.Extra.Actions {
			list = append(list, command(a.Command, a.CallID))
		}
		return list
	case len(m.Calls) > 0:
		var list []called
		for _, c := range m.Calls {
			list = append(list, c.Function.called(c.ID))
		}
		return list
	case m.Object == "response":
		return responded(m.Output)
	case m.Action != "":
		c := called{action: m.Action}
		c.tool, c.args = toolOf(m.Action)
		if len(m.CallIDs) > 0 {
			c.id = m.CallIDs[0]
		}
		return []called{c}
	}
	if found := fenced.FindAllStringSubmatch(ingest.Flatten(m.Content), 2); len(found) == 1 {
		return []called{command(found[0][1], "")}
	}
	return nil
}

func command(text, id string) called {
	return called{id: id, tool: shell, action: text, args: ingest.JSON(map[string]string{"command": text})}
}

func responded(raw json.RawMessage) []called {
	var output []struct {
		Type string `json:"type"`
		ID   string `json:"call_id"`
		function
	}
	if json.Unmarshal(raw, &output) != nil {
		return nil
	}
	var list []called
	for _, o := range output {
		if o.Type == "function_call" {
			list = append(list, o.called(o.ID))
		}
	}
	return list
}

func (f function) called(id string) called {
	c := called{id: id, tool: f.Name, args: f.Arguments}
	if text := ingest.Text(f.Arguments); text != "" && json.Valid([]byte(text)) {
		c.args = json.RawMessage(text)
	}
	c.action = ingest.Text(ingest.Members(c.args)["command"])
	return c
}

func (m *message) answers(waiting []string) (call string, ok bool) {
	id := m.Answers + m.CallID
	if id == "" && len(m.CallIDs) > 0 {
		id = m.CallIDs[0]
	}
	switch {
	case m.isAnswer() || m.Role == "system" || m.Demo || m.Extra.Interrupt != "":
		return "", false
	case id != "":
		return id, ingest.Usable(id)
	case len(waiting) == 0, m.Role == "exit" && !strings.EqualFold(m.Extra.Exit, "submitted"):
		return "", false
	}
	return waiting[0], true
}

var returned = regexp.MustCompile(`^\s*(?:<returncode>\s*(-?\d+)\s*</returncode>|\{\s*"returncode":\s*(-?\d+)\s*[,}])`)

func (m *message) result() events.ToolResultData {
	content, name := m.Content, "content"
	if len(content) == 0 {
		content, name = m.Output, "output"
	}
	data := events.ToolResultData{
		Status: events.ToolSuccess, Result: content, ExitCode: m.Extra.Code, Common: events.Common{Raw: ingest.Without(m.raw, name)},
	}
	text := ingest.Flatten(content)
	if found := returned.FindStringSubmatch(text); data.ExitCode == nil && found != nil {
		if code, err := strconv.Atoi(found[1] + found[2]); err == nil {
			data.ExitCode = &code
		}
	}
	class := notRun(text)
	if code := data.ExitCode; code != nil && *code < 0 {
		data.ExitCode, class = nil, "not_completed" // a negative code means that the command did not run or did not end
	}
	if class != "" || data.ExitCode != nil && *data.ExitCode != 0 {
		data.Status = events.ToolError
		data.Error, data.Result = ingest.Failed(text, content)
		data.Error.Class = class
	}
	return data
}
