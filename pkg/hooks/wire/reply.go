package wire

import (
	"bytes"
	"encoding/json"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// The actions of a reply.
const (
	ActionAllow    = "allow"
	ActionBlock    = "block"
	ActionModify   = "modify"
	ActionContinue = "continue"
)

// The faults of replies. They name no text of one.
const (
	ErrTooLong  = hooks.Fault("answer is too long")
	ErrNoJSON   = hooks.Fault("answer is not one JSON object")
	ErrAction   = hooks.Fault("answer has no action that exists")
	ErrVerdict  = hooks.Fault("answer has no verdict that exists")
	ErrModified = hooks.Fault("answer modifies without saying how")
)

// reply is an answer as it is read, in either dialect: an action, or the verdict
// of an outcome.
type reply struct {
	Action   *string         `json:"action"`
	Modified json.RawMessage `json:"modified_args"`
	Message  *string         `json:"message"`

	Verdict *string         `json:"verdict"`
	Reason  string          `json:"reason"`
	Args    json.RawMessage `json:"args"`
	Value   json.RawMessage `json:"value"`

	Context           string `json:"context"`
	AdditionalContext string `json:"additional_context"`
}

// ParseReply returns what the hook of d answered. Without a word, white space
// aside, it has no opinion: nil. An answer has an action:
//
//	allow      nothing speaks against it
//	block      denied, for the reason in message
//	modify     modified_args are the arguments, or at a point that is about no
//	           tool call the patch or value, to go on with
//	continue   no opinion
//
// or the fields of an outcome: verdict, reason, args, value. In both, context is
// what the agent is to know besides. It fails with a [hooks.Fault].
func ParseReply(data []byte, d hooks.Document) (*hooks.Reply, error) {
	if len(data) > MaxBytes {
		return nil, ErrTooLong
	}
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return nil, nil //nolint:nilnil // no opinion
	}
	var r reply
	if data[0] != '{' || json.Unmarshal(data, &r) != nil {
		return nil, ErrNoJSON
	}
	out := new(hooks.Reply)
	var err error
	if r.Action == nil && r.Verdict != nil {
		err = r.byVerdict(out, d)
	} else {
		err = r.byAction(out)
	}
	if err != nil {
		return nil, err
	}
	out.Context = r.Context
	if out.Context == "" {
		out.Context = r.AdditionalContext
	}
	return out, nil
}

func (r *reply) byAction(out *hooks.Reply) error {
	if r.Action == nil {
		return ErrAction
	}
	if r.Message != nil {
		out.Reason = *r.Message
	}
	switch *r.Action {
	case ActionAllow:
		out.Verdict = hooks.Allow
	case ActionBlock:
		out.Verdict = hooks.Deny
	case ActionModify:
		if out.Patch = present(r.Modified); out.Patch == "" {
			return ErrModified
		}
	case ActionContinue:
	default:
		return ErrAction
	}
	return nil
}

func (r *reply) byVerdict(out *hooks.Reply, d hooks.Document) error {
	switch v := hooks.Verdict(*r.Verdict); v {
	case hooks.Allow, hooks.Ask, hooks.Deny:
		out.Verdict = v
	case hooks.None:
	default:
		return ErrVerdict
	}
	out.Reason = r.Reason
	if d.Point == events.ToolBefore {
		// An outcome always has the arguments. They are a change only if they are.
		if args := present(r.Args); args != "" && !sameJSON(args, d.Args) {
			out.Patch = args
		}
		return nil
	}
	out.Patch = present(r.Value)
	return nil
}

// sameJSON tells whether a and b differ in white space only.
func sameJSON(a, b hooks.JSON) bool { return compact(a) == compact(b) }

func compact(j hooks.JSON) string {
	var b bytes.Buffer
	if json.Compact(&b, []byte(j)) != nil {
		return string(j)
	}
	return b.String()
}
