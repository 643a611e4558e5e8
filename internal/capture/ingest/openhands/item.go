package openhands

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// item is one entry of a history, which is an action or an observation.
type item struct {
	Number      json.RawMessage `json:"id"`
	Timestamp   string          `json:"timestamp"`
	Source      string          `json:"source"` // agent, user, environment; empty in old files
	Cause       json.RawMessage `json:"cause"`  // the id of the action
	Action      string          `json:"action"`
	Args        json.RawMessage `json:"args"` // absent in old files, where the arguments are members of the item
	Observation string          `json:"observation"`
	Content     json.RawMessage `json:"content"`
	Message     string          `json:"message"` // human-readable
	Success     *bool           `json:"success"`
	ExitCode    *int            `json:"exit_code"` // in old files
	Extras      struct {
		ExitCode *int `json:"exit_code"` // in files of other versions
		Metadata struct {
			ExitCode *int `json:"exit_code"`
		} `json:"metadata"`
	} `json:"extras"`
	Call struct {
		Tool     string   `json:"function_name"`
		ID       string   `json:"tool_call_id"`
		Response response `json:"model_response"`
	} `json:"tool_call_metadata"`
	Metrics *metrics `json:"llm_metrics"` // the total of the run at this item

	kind     string         // since version 1
	thoughts string         // since version 1
	total    *events.Tokens // since version 1: the total of the run at this item

	id   string // unique in the run
	line int
	time time.Time
	raw  json.RawMessage
}

// response is an answer of a model.
type response struct {
	ID      string `json:"id"`
	Model   string `json:"model"`
	Choices []struct {
		Finish  string `json:"finish_reason"`
		Message struct {
			Content json.RawMessage `json:"content"`
		} `json:"message"`
	} `json:"choices"`
	Usage *usage `json:"usage"`
}

// metrics are totals of a run.
type metrics struct {
	Cost  json.RawMessage `json:"accumulated_cost"`
	Usage *usage          `json:"accumulated_token_usage"`
}

type usage struct {
	Prompt     json.RawMessage `json:"prompt_tokens"`
	Completion json.RawMessage `json:"completion_tokens"`
	CacheRead  json.RawMessage `json:"cache_read_tokens"`
	CacheWrite json.RawMessage `json:"cache_write_tokens"`
}

// tokens converts the usage. The prompt includes cached tokens here, and the
// input of events does not.
func (u *usage) tokens() events.Tokens {
	if u == nil {
		return events.Tokens{}
	}
	t := events.Tokens{
		Output: ingest.Number(u.Completion), CacheRead: ingest.Number(u.CacheRead), CacheCreation: ingest.Number(u.CacheWrite),
	}
	t.Input = max(0, ingest.Number(u.Prompt)-t.CacheRead-t.CacheCreation)
	return t
}

// parse reads an item. For an unexpected shape it returns both the readable
// members and an error with the path.
func parse(raw json.RawMessage, line int) (*item, error) {
	i := &item{}
	var err error
	if isEvent(ingest.Members(raw)) {
		var e event
		err = json.Unmarshal(raw, &e)
		i = e.item()
	} else {
		err = json.Unmarshal(raw, i)
	}
	i.raw, i.line = raw, line
	if err == nil && (!ingest.Usable(i.Call.ID) || !ingest.Usable(i.Call.Response.ID)) {
		i.Call.ID, i.Call.Response.ID = "", ""
		err = ingest.ShapeError("tool_call_metadata: an id cannot be used as one")
	}
	return i, err
}

// naive is the layout of a time without a zone, as Python writes it.
const naive = "2006-01-02T15:04:05.999999999"

// when returns the time of the item. A time without a zone is UTC.
func (i *item) when() (time.Time, bool) {
	if t, ok := ingest.Time(i.Timestamp); ok {
		return t, true
	}
	t, err := time.Parse(naive, strings.Replace(i.Timestamp, " ", "T", 1))
	return t, err == nil && t.Year() >= 1970
}

func (i *item) origin() ingest.Origin { return ingest.Origin{ID: i.id, Time: i.time} }

// name returns the name of the item for custom events.
func (i *item) name() string {
	switch {
	case i.kind != "":
		return i.kind
	case i.Action != "":
		return "action." + i.Action
	case i.Observation != "":
		return "observation." + i.Observation
	}
	return "item"
}

// idOf returns an id as a text. Old items have numbers.
func idOf(raw json.RawMessage) string {
	if text := ingest.Text(raw); text != "" {
		return text
	}
	var number json.Number
	if json.Unmarshal(raw, &number) != nil {
		return ""
	}
	return number.String()
}

// idle are actions that call no tool.
var idle = map[string]bool{
	"message": true, "system": true, "recall": true, "null": true, "change_agent_state": true, "condensation": true,
	"condensation_request": true, "pause": true, "resume": true, "start": true, "stop": true, "loop_recovery": true,
}

// isCall reports whether the item is an action of the agent that calls a tool.
func (i *item) isCall() bool {
	return i.Action != "" && !idle[i.Action] && (i.Source == "agent" || i.Source == "")
}

// modelNames maps actions to the names that models use for their tools, so that
// rules for the shell apply.
var modelNames = map[string]string{"run": "execute_bash", "run_ipython": "execute_ipython_cell"}

// tool returns the name of the tool that an action calls. Actions distinguish
// reading from editing, where models have one tool for both. For an MCP tool it
// returns the name of that tool.
func (i *item) tool() string {
	if i.Action == "call_tool_mcp" {
		if name := i.text("name"); name != "" {
			return name
		}
	}
	if name := modelNames[i.Action]; name != "" {
		return name
	}
	return i.Action
}

// nonArguments are the members of an old item that are not arguments.
var nonArguments = []string{"action", "thought", "source", "message", "timestamp", "id"}

// args returns the arguments of an action and its other members.
func (i *item) args() (args, others json.RawMessage) {
	switch {
	case i.kind != "":
		return i.Args, ingest.Without(i.raw, "action")
	case len(i.Args) > 0:
		return i.Args, ingest.Without(i.raw, "args")
	}
	var own []string
	for name := range ingest.Members(i.raw) {
		if !slices.Contains(nonArguments, name) {
			own = append(own, name)
		}
	}
	return ingest.Without(i.raw, nonArguments...), ingest.Without(i.raw, own...)
}

// text returns the first of these arguments that is a text.
func (i *item) text(names ...string) string {
	args, _ := i.args()
	members := ingest.Members(args)
	for _, name := range names {
		if s := ingest.Text(members[name]); s != "" {
			return s
		}
	}
	return ""
}

// thought returns the thought of the agent for an action.
func (i *item) thought() string {
	if i.kind != "" {
		return i.thoughts
	}
	if len(i.Args) == 0 {
		var old struct {
			Thought string `json:"thought"`
		}
		if json.Unmarshal(i.raw, &old) != nil {
			return ""
		}
		return old.Thought
	}
	return i.text("thought")
}

// exitCode returns the exit code of a command that ended. The code -1 marks a
// running command.
func (i *item) exitCode() *int {
	for _, code := range []*int{i.Extras.Metadata.ExitCode, i.Extras.ExitCode, i.ExitCode} {
		if code != nil && *code >= 0 {
			return code
		}
	}
	return nil
}

// editorError is the prefix of an error of the editor.
var editorError = []byte(`"ERROR:`)

// failed reports whether the call of the observation failed.
func (i *item) failed() bool {
	code := i.exitCode()
	switch i.Observation {
	case "user_rejected", "error":
		return true
	case "edit", "read", "write":
		return bytes.HasPrefix(i.Content, editorError)
	}
	return code != nil && *code != 0 || i.Success != nil && !*i.Success
}

// failure returns the failure of a call. It also returns the result unless the
// failure has all of it.
func (i *item) failure() (*events.Failure, json.RawMessage) {
	message := ingest.Flatten(i.Content)
	if message == "" {
		message = i.Message // the command failed without output
	}
	f, result := ingest.Failed(message, i.Content)
	if i.Observation == "user_rejected" {
		f.Class = "rejected"
	}
	return f, result
}
