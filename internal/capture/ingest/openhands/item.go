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

// item is one entry of a history: an action or an observation.
type item struct {
	Number      json.RawMessage `json:"id"`
	Timestamp   string          `json:"timestamp"`
	Source      string          `json:"source"` // agent, user, environment; empty in old files
	Cause       json.RawMessage `json:"cause"`  // the id of the action
	Action      string          `json:"action"`
	Args        json.RawMessage `json:"args"` // in old files the arguments are members of the item
	Observation string          `json:"observation"`
	Content     json.RawMessage `json:"content"`
	Message     string          `json:"message"` // for people
	Success     *bool           `json:"success"`
	ExitCode    *int            `json:"exit_code"` // in old files
	Extras      struct {
		ExitCode *int `json:"exit_code"` // in files that are neither
		Metadata struct {
			ExitCode *int `json:"exit_code"`
		} `json:"metadata"`
	} `json:"extras"`
	Call struct {
		Tool     string   `json:"function_name"`
		ID       string   `json:"tool_call_id"`
		Response response `json:"model_response"`
	} `json:"tool_call_metadata"`
	Metrics *metrics `json:"llm_metrics"` // of the run up to here

	kind     string         // since version 1
	thoughts string         // likewise
	total    *events.Tokens // likewise: what the run used up to here

	id   string // names the item in its run
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

// metrics are what a run used up to some point.
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

// tokens returns the usage as events have it: what was read from a cache or
// written to one is part of the prompt here, and not of the input there.
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

// parse reads an item. What is no object, or not of the expected shape, is
// returned as far as it could be read, with an error that says where it is not.
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

// naive is a time without a zone, as Python writes it.
const naive = "2006-01-02T15:04:05.999999999"

// when returns the time of the item, if it has one. Without a zone it is UTC.
func (i *item) when() (time.Time, bool) {
	if t, ok := ingest.Time(i.Timestamp); ok {
		return t, true
	}
	t, err := time.Parse(naive, strings.Replace(i.Timestamp, " ", "T", 1))
	return t, err == nil && t.Year() >= 1970
}

func (i *item) place() ingest.Origin { return ingest.Origin{ID: i.id, Time: i.time} }

// name is the item's own, as its custom events have it.
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

// idOf returns an id as a text: old items are numbered.
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

// idle are actions by which nobody calls a tool.
var idle = map[string]bool{
	"message": true, "system": true, "recall": true, "null": true, "change_agent_state": true, "condensation": true,
	"condensation_request": true, "pause": true, "resume": true, "start": true, "stop": true, "loop_recovery": true,
}

// isCall reports whether the item is an action of the agent that calls a tool.
func (i *item) isCall() bool {
	return i.Action != "" && !idle[i.Action] && (i.Source == "agent" || i.Source == "")
}

// asModelsCall are the names by which models call the tools of actions that have
// others, so that a rule for the shell holds for them.
var asModelsCall = map[string]string{"run": "execute_bash", "run_ipython": "execute_ipython_cell"}

// tool returns the name of the tool that an action calls: the action's own, which
// tells reading from editing where models have one tool for both, or that of an
// MCP server's tool.
func (i *item) tool() string {
	if i.Action == "call_tool_mcp" {
		if name := i.text("name"); name != "" {
			return name
		}
	}
	if name := asModelsCall[i.Action]; name != "" {
		return name
	}
	return i.Action
}

// about are members of an item of the old shape that are no arguments.
var about = []string{"action", "thought", "source", "message", "timestamp", "id"}

// args returns the arguments of an action, and what else there is of it.
func (i *item) args() (args, rest json.RawMessage) {
	switch {
	case i.kind != "":
		return i.Args, ingest.Without(i.raw, "action")
	case len(i.Args) > 0:
		return i.Args, ingest.Without(i.raw, "args")
	}
	var own []string
	for name := range ingest.Members(i.raw) {
		if !slices.Contains(about, name) {
			own = append(own, name)
		}
	}
	return ingest.Without(i.raw, about...), ingest.Without(i.raw, own...)
}

// text returns a text among the arguments of an action: the first of the names
// that there is.
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

// thought returns what the agent thought when it decided on an action.
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

// exitCode returns that of a command which has ended: -1 says that it runs on.
func (i *item) exitCode() *int {
	for _, code := range []*int{i.Extras.Metadata.ExitCode, i.Extras.ExitCode, i.ExitCode} {
		if code != nil && *code >= 0 {
			return code
		}
	}
	return nil
}

// editorError begins what the editor answers when it could not do what it was
// told.
var editorError = []byte(`"ERROR:`)

// failed reports whether the call failed that the observation is about.
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

// failure returns how the call failed, and the result where that does not say
// all of it.
func (i *item) failure() (*events.Failure, json.RawMessage) {
	message := ingest.Flatten(i.Content)
	if message == "" {
		message = i.Message // a command that failed in silence
	}
	f, result := ingest.Failed(message, i.Content)
	if i.Observation == "user_rejected" {
		f.Class = "rejected"
	}
	return f, result
}
