package wire

import (
	"bytes"
	"encoding/json"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// The values of the member action in a reply.
const (
	ActionAllow    = "allow"
	ActionBlock    = "block"
	ActionModify   = "modify"
	ActionContinue = "continue"
)

// These errors mean that the reply of a hook is invalid. They contain no text of the reply.
const (
	ErrTooLong  = hooks.Fault("answer is too long")
	ErrNoJSON   = hooks.Fault("answer is not one JSON object")
	ErrAction   = hooks.Fault("answer has no action that exists")
	ErrVerdict  = hooks.Fault("answer has no verdict that exists")
	ErrModified = hooks.Fault("answer modifies without saying how")
)

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

// ParseReply decodes the reply of a hook to the document d. An empty reply means no opinion, and
// ParseReply returns nil. A reply can have an action:
//
//	allow      the hook has no objection
//	block      the hook denies, and message is the reason
//	modify     the run continues with modified_args, which contains the new arguments, or the
//	           patch or value at points without a tool call
//	continue   the hook has no opinion
//
// It can instead have the fields of an outcome, which are verdict, reason, args and value. Both
// forms can contain a context for the agent.
//
// A reply without an action and a verdict is in the format of Claude Code's hooks, such as
// {"decision":"block","reason":"…"} or one with hookSpecificOutput. An empty object means no
// opinion. An invalid reply is a [hooks.Fault].
func ParseReply(data []byte, d hooks.Document) (*hooks.Reply, error) {
	if len(data) > MaxBytes {
		return nil, ErrTooLong
	}
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return nil, nil
	}
	var r reply
	if data[0] != '{' || json.Unmarshal(data, &r) != nil {
		return nil, ErrNoJSON
	}
	out := new(hooks.Reply)
	var err error
	switch {
	case r.Action != nil:
		err = r.byAction(out)
	case r.Verdict != nil:
		err = r.byVerdict(out, d)
	default:
		return parseClaude(data, d)
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
		// A reply in the form of an outcome always contains the arguments. They are a patch only if
		// they differ from those of the call.
		if args := present(r.Args); args != "" && !sameJSON(args, d.Args) {
			out.Patch = args
		}
		return nil
	}
	out.Patch = present(r.Value)
	return nil
}

func sameJSON(a, b hooks.JSON) bool { return compact(a) == compact(b) }

func compact(j hooks.JSON) string {
	var b bytes.Buffer
	if json.Compact(&b, []byte(j)) != nil {
		return string(j)
	}
	return b.String()
}
