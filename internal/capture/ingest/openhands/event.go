package openhands

import (
	"encoding/json"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type event struct {
	Kind    string          `json:"kind"`
	ID      json.RawMessage `json:"id"`
	Time    string          `json:"timestamp"`
	Source  string          `json:"source"`
	Message struct {
		Content json.RawMessage `json:"content"`
	} `json:"llm_message"`
	Prompt struct {
		Text string `json:"text"`
	} `json:"system_prompt"`
	Thought  json.RawMessage `json:"thought"`
	Tool     string          `json:"tool_name"`
	CallID   string          `json:"tool_call_id"`
	Response string          `json:"llm_response_id"`
	Action   json.RawMessage `json:"action"`
	Call     struct {
		Arguments string `json:"arguments"`
	} `json:"tool_call"`
	ActionID    json.RawMessage `json:"action_id"`
	Observation struct {
		Content  json.RawMessage `json:"content"`
		IsError  bool            `json:"is_error"`
		ExitCode *int            `json:"exit_code"`
		Metadata struct {
			ExitCode *int `json:"exit_code"`
		} `json:"metadata"`
	} `json:"observation"`
	Error  string `json:"error"`
	Reason string `json:"rejection_reason"`
	Detail string `json:"detail"`

	Key   string          `json:"key"` // of the state of the conversation
	Value json.RawMessage `json:"value"`
}

func (e *event) total() *events.Tokens {
	var stats struct {
		Metrics map[string]metrics `json:"usage_to_metrics"`
	}
	if e.Key != "stats" || json.Unmarshal(e.Value, &stats) != nil || len(stats.Metrics) == 0 {
		return nil
	}
	var total events.Tokens
	for _, m := range stats.Metrics {
		total = total.Plus(m.Usage.tokens())
	}
	return &total
}

func (e *event) item() *item {
	i := &item{kind: e.Kind, Number: e.ID, Timestamp: e.Time, Source: e.Source}
	i.Call.ID, i.Call.Response.ID, i.Call.Tool = e.CallID, e.Response, e.Tool
	switch e.Kind {
	case "MessageEvent":
		i.Action, i.Args = "message", ingest.JSON(map[string]string{"content": ingest.Flatten(e.Message.Content)})
	case "SystemPromptEvent":
		i.Action, i.Args = "system", ingest.JSON(map[string]string{"content": e.Prompt.Text})
	case "ActionEvent":
		i.Action, i.Args, i.thoughts = e.Tool, e.Action, ingest.Flatten(e.Thought)
		if (len(e.Action) == 0 || e.Action[0] != '{') && json.Valid([]byte(e.Call.Arguments)) {
			i.Args = json.RawMessage(e.Call.Arguments) // the call could not be executed
		}
	case "Condensation":
		i.Action = "condensation"
	case "ConversationStateUpdateEvent":
		i.total = e.total()
	default:
		e.observed(i)
	}
	return i
}

func (e *event) observed(i *item) {
	switch e.Kind {
	case "ObservationEvent":
		i.Observation, i.Cause, i.Content = e.Tool, e.ActionID, e.Observation.Content
		i.ExitCode, i.Extras.ExitCode = e.Observation.ExitCode, e.Observation.Metadata.ExitCode
		i.Success = new(!e.Observation.IsError)
	case "UserRejectObservation":
		i.Observation, i.Cause, i.Content = "user_rejected", e.ActionID, ingest.JSON(e.Reason)
	case "AgentErrorEvent":
		i.Observation, i.Content = "error", ingest.JSON(e.Error)
	case "ConversationErrorEvent":
		i.Observation, i.Content = "error", ingest.JSON(e.Detail)
	}
}

func isEvent(members map[string]json.RawMessage) bool {
	return ingest.Has(members, "kind", "id", "timestamp", "source")
}
