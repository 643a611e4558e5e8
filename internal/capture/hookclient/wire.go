package hookclient

import (
	"encoding/json"
	"errors"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// DocumentType is the body by which publisher hook asks about a document.
// Nothing is recorded of it: the event of the payload tells what was decided.
const DocumentType = "application/vnd.hooktrail.document+json"

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

// EncodeDocument returns a body of [DocumentType].
func EncodeDocument(d hooks.Document) ([]byte, error) {
	return json.Marshal(wireDocument{
		Point: d.Point, Meta: d.Meta, Tool: d.Tool,
		Args: d.Args.Raw(), Result: d.Result.Raw(), Payload: d.Payload.Raw(), Error: d.Error,
	})
}

// DecodeDocument reads a body of [DocumentType]. Its error has no text of it.
func DecodeDocument(body []byte) (hooks.Document, error) {
	var w wireDocument
	if err := json.Unmarshal(body, &w); err != nil {
		return hooks.Document{}, errors.New("not a document")
	}
	return hooks.Document{
		Point: w.Point, Meta: w.Meta, Tool: w.Tool,
		Args: hooks.FromRaw(w.Args), Result: hooks.FromRaw(w.Result), Payload: hooks.FromRaw(w.Payload), Error: w.Error,
	}, nil
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

// EncodeOutcome returns the answer to a document.
func EncodeOutcome(out hooks.DocumentOutcome) ([]byte, error) {
	return json.Marshal(wireOutcome{
		Verdict: out.Verdict, Reason: out.Reason, Args: out.Args.Raw(), Value: out.Value.Raw(),
		Context: out.Context, Executions: out.Executions,
	})
}

// errOutcome is returned for an answer that says nothing that can be understood.
var errOutcome = errors.New("its answer cannot be read; is it of this version?")

// DecodeOutcome reads the answer to a document of point. Its error has no text of it.
func DecodeOutcome(point events.Kind, body []byte) (hooks.DocumentOutcome, error) {
	var w wireOutcome
	if err := json.Unmarshal(body, &w); err != nil || !w.valid() {
		return hooks.DocumentOutcome{}, errOutcome
	}
	return hooks.DocumentOutcome{
		Point: point, Verdict: w.Verdict, Reason: w.Reason, Args: hooks.FromRaw(w.Args), Value: hooks.FromRaw(w.Value),
		Context: w.Context, Executions: w.Executions,
	}, nil
}

// valid tells whether an answer says something that can be understood.
func (w wireOutcome) valid() bool {
	switch w.Verdict {
	case hooks.None, hooks.Allow, hooks.Ask, hooks.Deny:
		return w.Executions != nil
	}
	return false
}
