package agents

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// answer is a JSON object of an answer. Its members are encoded in the order of
// their names, so equal answers are equal bytes.
type answer map[string]any

func (a answer) set(name string, value any) { a[name] = value }

// text sets a member that is not empty.
func (a answer) text(name, value string) {
	if value != "" {
		a[name] = value
	}
}

// block sets the members of a denial that several tools share.
func (a answer) block(o hooks.DocumentOutcome) {
	if o.Verdict == hooks.Deny {
		a.set("decision", "block")
		a.text("reason", o.Reason)
	}
}

// reply encodes the answer. An empty answer prints nothing.
func (a answer) reply() Reply {
	if len(a) == 0 {
		return Reply{}
	}
	return Reply{Stdout: append(document(a).Raw(), '\n')}
}

// decide sets the decision about a call, if hooks made one.
func (a answer) decide(o hooks.DocumentOutcome) {
	if o.Verdict != hooks.None && o.Verdict != "" {
		a.set("permissionDecision", o.Verdict)
		a.text("permissionDecisionReason", o.Reason)
	}
}

// decideFor sets the decision on behalf of a person. It sets nothing if the person
// is to be asked.
func (a answer) decideFor(o hooks.DocumentOutcome) {
	if d := decisionOf(o); d != nil {
		a.set("decision", d)
	}
}

// special sets the members for one event, if there are any.
func (a answer) special(event string, special answer) {
	if len(special) > 0 {
		special.set("hookEventName", event)
		a.set("hookSpecificOutput", special)
	}
}

// decisionOf returns the decision on behalf of a person, or nil if the person is to
// be asked.
func decisionOf(o hooks.DocumentOutcome) answer {
	switch o.Verdict {
	case hooks.Allow:
		return answer{"behavior": "allow"}
	case hooks.Deny:
		return answer{"behavior": "deny", "message": o.Reason}
	case hooks.Ask, hooks.None:
	}
	return nil
}

// newArgs returns the arguments after hooks changed them, and whether they did. A
// denied call has none.
func (p Payload) newArgs(o hooks.DocumentOutcome) (hooks.JSON, bool) {
	if o.Verdict == hooks.Deny {
		return "", false
	}
	return patched(p.Document.Args, o.Args)
}

// suppresses reports whether hooks hide a result from the user.
func (p Payload) suppresses(o hooks.DocumentOutcome) bool {
	now, ok := outcomeOf(o)
	return ok && now.Suppress
}

// shaped returns now in the shape of like, because a tool ignores a result of
// another shape. If now is a text and like is not, now replaces the longest text of
// like, and the other texts become empty.
func shaped(like, now hooks.JSON) hooks.JSON {
	text, isText := textOf(now.Raw())
	if _, same := textOf(like.Raw()); !isText || same {
		return now
	}
	var v any
	if like.Decode(&v) != nil {
		return now
	}
	longest := longestText(v)
	filled := false
	return document(replaceTexts(v, func(s string) string {
		if s != longest || filled {
			return ""
		}
		filled = true
		return text
	}))
}

// longestText returns the longest text in v. It skips members named "type".
func longestText(v any) string {
	var longest string
	replaceTexts(v, func(s string) string {
		if len(s) > len(longest) {
			longest = s
		}
		return s
	})
	return longest
}

// replaceTexts replaces the texts in v, in the order of the member names. It skips
// members named "type".
func replaceTexts(v any, by func(string) string) any {
	switch v := v.(type) {
	case string:
		return by(v)
	case []any:
		for i := range v {
			v[i] = replaceTexts(v[i], by)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if name != "type" {
				v[name] = replaceTexts(v[name], by)
			}
		}
	}
	return v
}

// plain returns the text of a string, and other results as JSON.
func plain(j hooks.JSON) string {
	if text, ok := textOf(j.Raw()); ok {
		return text
	}
	return string(j)
}

// textOf returns the text of a JSON string, and false for other values.
func textOf(raw json.RawMessage) (string, bool) {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}
