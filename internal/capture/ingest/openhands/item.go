package openhands

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type item struct {
	Number      json.RawMessage `json:"id"`
	Timestamp   string          `json:"timestamp"`
	Source      string          `json:"source"` // agent, user, environment; empty in old files
	Cause       json.RawMessage `json:"cause"`  // the id of the action
	Action      string          `json:"action"`
	Args        json.RawMessage `json:"args"` // missing in old files, whose items contain the arguments directly
	Observation string          `json:"observation"`
	Content     json.RawMessage `json:"content"`
	Message     string          `json:"message"`
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
	Metrics *metrics `json:"llm_metrics"` // totals of the run up to this item

	kind     string         // since version 1
	thoughts string         // since version 1
	total    *events.Tokens // of the run up to this item, since version 1 of OpenHands

	id   string
	line int
	time time.Time
	raw  json.RawMessage
}

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

const naive = "2006-01-02T15:04:05.999999999"

func (i *item) when() (time.Time, bool) {
	if t, ok := ingest.Time(i.Timestamp); ok {
		return t, true
	}
	t, err := time.Parse(naive, strings.Replace(i.Timestamp, " ", "T", 1))
	return t, err == nil && t.Year() >= 1970
}

func (i *item) origin() ingest.Origin { return ingest.Origin{ID: i.id, Time: i.time} }

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

var nonCalls = map[string]bool{
	"message": true, "system": true, "recall": true, "null": true, "change_agent_state": true, "condensation": true,
	"condensation_request": true, "pause": true, "resume": true, "start": true, "stop": true, "loop_recovery": true,
}

func (i *item) isCall() bool {
	return i.Action != "" && !nonCalls[i.Action] && (i.Source == "agent" || i.Source == "")
}

var modelNames = map[string]string{"run": "execute_bash", "run_ipython": "execute_ipython_cell"}

func (i *item) tool() string {
	name := modelNames[i.Action]
	if i.Action == "call_tool_mcp" {
		name = i.text("name")
	}
	return cmp.Or(name, i.Action)
}

var nonArguments = []string{"action", "thought", "source", "message", "timestamp", "id"}

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

func (i *item) thought() string {
	if i.kind != "" {
		return i.thoughts
	}
	if len(i.Args) == 0 {
		var old struct {
			Thought string `json:"thought"`
		}
		_ = json.Unmarshal(i.raw, &old) // a thought of another type reads as empty
		return old.Thought
	}
	return i.text("thought")
}

// exitCode ignores a code of -1, because it marks a command that still runs.
func (i *item) exitCode() *int {
	for _, code := range []*int{i.Extras.Metadata.ExitCode, i.Extras.ExitCode, i.ExitCode} {
		if code != nil && *code >= 0 {
			return code
		}
	}
	return nil
}

var editorError = []byte(`"ERROR:`)

const editRefused = "Your proposed edit has introduced new syntax error(s)."

func (i *item) failed() bool {
	code := i.exitCode()
	switch i.Observation {
	case "user_rejected", "error":
		return true
	case "edit", "read", "write", "run_ipython":
		refused := strings.HasPrefix(strings.TrimLeft(ingest.Flatten(i.Content), "[\n "), editRefused)
		if refused || i.Observation != "run_ipython" {
			return refused || bytes.HasPrefix(i.Content, editorError)
		}
	}
	return code != nil && *code != 0 || i.Success != nil && !*i.Success
}

func (i *item) failure() (*events.Failure, json.RawMessage) {
	f, result := ingest.Failed(cmp.Or(ingest.Flatten(i.Content), i.Message), i.Content) // a command can fail without output
	if i.Observation == "user_rejected" {
		f.Class = "rejected"
	}
	return f, result
}
