package hookclient

import (
	"encoding/json"
	"errors"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// DocumentType is the media type of a request that only asks for a decision. The publisher records
// no event for the request, because the hook command does.
const DocumentType = "application/vnd.hooktrail.document+json"

type wireDocument struct {
	Point   events.Kind     `json:"point"`
	Meta    hooks.Meta      `json:"meta"`
	Tool    string          `json:"tool,omitempty"`
	Args    json.RawMessage `json:"args,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Payload json.RawMessage `json:"payload,omitempty"`
	Error   string          `json:"error,omitempty"`
}

// EncodeDocument encodes a document as the body of a request with the media type [DocumentType].
func EncodeDocument(d hooks.Document) ([]byte, error) {
	return json.Marshal(wireDocument{
		Point: d.Point, Meta: d.Meta, Tool: d.Tool,
		Args: d.Args.Raw(), Result: d.Result.Raw(), Payload: d.Payload.Raw(), Error: d.Error,
	})
}

// DecodeDocument reads a body of [DocumentType]. The error contains no text of the body.
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

type wireOutcome struct {
	Verdict    hooks.Verdict     `json:"verdict"`
	Reason     string            `json:"reason,omitempty"`
	Args       json.RawMessage   `json:"args,omitempty"`
	Value      json.RawMessage   `json:"value,omitempty"`
	Context    string            `json:"context,omitempty"`
	Executions []hooks.Execution `json:"executions"`
}

// EncodeOutcome encodes the outcome of the hooks as the body of the response to a document.
func EncodeOutcome(out hooks.DocumentOutcome) ([]byte, error) {
	return json.Marshal(wireOutcome{
		Verdict: out.Verdict, Reason: out.Reason, Args: out.Args.Raw(), Value: out.Value.Raw(),
		Context: out.Context, Executions: out.Executions,
	})
}

var errOutcome = errors.New("its answer cannot be read; is it of this version?")

// DecodeOutcome decodes the body of a response to a document. The error contains no text of the
// body.
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

func (w wireOutcome) valid() bool {
	switch w.Verdict {
	case hooks.None, hooks.Allow, hooks.Ask, hooks.Deny:
		return w.Executions != nil
	}
	return false
}
