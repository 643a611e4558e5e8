package publisher

import (
	"encoding/json"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// documentType is the body by which publisher hook asks about a document.
// Nothing is recorded of it: the event of the payload tells what was decided.
const documentType = "application/vnd.hooktrail.document+json"

// wireDocument is a [hooks.Document] on its way to a publisher.
type wireDocument struct {
	Point   events.Kind     `json:"point"`
	Meta    hooks.Meta      `json:"meta"`
	Tool    string          `json:"tool,omitempty"`
	Args    json.RawMessage `json:"args,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Payload json.RawMessage `json:"payload,omitempty"`
	Error   string          `json:"error,omitempty"`
}

func wireOf(d hooks.Document) wireDocument {
	return wireDocument{
		Point: d.Point, Meta: d.Meta, Tool: d.Tool,
		Args: d.Args.Raw(), Result: d.Result.Raw(), Payload: d.Payload.Raw(), Error: d.Error,
	}
}

func (w wireDocument) document() hooks.Document {
	return hooks.Document{
		Point: w.Point, Meta: w.Meta, Tool: w.Tool,
		Args: hooks.FromRaw(w.Args), Result: hooks.FromRaw(w.Result), Payload: hooks.FromRaw(w.Payload), Error: w.Error,
	}
}

// wireOutcome is a [hooks.DocumentOutcome] on its way back.
type wireOutcome struct {
	Verdict    hooks.Verdict     `json:"verdict"`
	Reason     string            `json:"reason,omitempty"`
	Args       json.RawMessage   `json:"args,omitempty"`
	Value      json.RawMessage   `json:"value,omitempty"`
	Context    string            `json:"context,omitempty"`
	Executions []hooks.Execution `json:"executions"`
}

func answerOf(out hooks.DocumentOutcome) wireOutcome {
	return wireOutcome{
		Verdict: out.Verdict, Reason: out.Reason, Args: out.Args.Raw(), Value: out.Value.Raw(),
		Context: out.Context, Executions: out.Executions,
	}
}

// outcome returns what was decided at point.
func (w wireOutcome) outcome(point events.Kind) hooks.DocumentOutcome {
	return hooks.DocumentOutcome{
		Point: point, Verdict: w.Verdict, Reason: w.Reason, Args: hooks.FromRaw(w.Args), Value: hooks.FromRaw(w.Value),
		Context: w.Context, Executions: w.Executions,
	}
}

// valid tells whether an answer says something that can be understood.
func (w wireOutcome) valid() bool {
	switch w.Verdict {
	case hooks.None, hooks.Allow, hooks.Ask, hooks.Deny:
		return w.Executions != nil
	}
	return false
}
