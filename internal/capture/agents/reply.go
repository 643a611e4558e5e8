package agents

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// answer is an object of an answer. Its members stand in the order of their
// names, so that equal answers are equal bytes.
type answer map[string]any

func (a answer) set(name string, value any) { a[name] = value }

// text sets a member, unless it is empty.
func (a answer) text(name, value string) {
	if value != "" {
		a[name] = value
	}
}

// block sets what several tools know a denial by.
func (a answer) block(o hooks.DocumentOutcome) {
	if o.Verdict == hooks.Deny {
		a.set("decision", "block")
		a.text("reason", o.Reason)
	}
}

// reply returns the answer as it is printed: nothing if nothing is set.
func (a answer) reply() Reply {
	if len(a) == 0 {
		return Reply{}
	}
	return Reply{Stdout: append(document(a).Raw(), '\n')}
}

// decide sets the decision about a call, if there is one.
func (a answer) decide(o hooks.DocumentOutcome) {
	if o.Verdict != hooks.None && o.Verdict != "" {
		a.set("permissionDecision", o.Verdict)
		a.text("permissionDecisionReason", o.Reason)
	}
}

// decideFor sets the decision in the place of a person, unless that is to be
// asked.
func (a answer) decideFor(o hooks.DocumentOutcome) {
	if d := decisionOf(o); d != nil {
		a.set("decision", d)
	}
}

// special sets what is special to an event, if anything is.
func (a answer) special(event string, special answer) {
	if len(special) > 0 {
		special.set("hookEventName", event)
		a.set("hookSpecificOutput", special)
	}
}

// decisionOf returns the decision about a question to a person, nil if that is
// to be asked.
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

// newArgs returns the arguments that hooks have put in the place of the call's,
// and whether they have. Those of a denied call do not change what it is told.
func (p Payload) newArgs(o hooks.DocumentOutcome) (hooks.JSON, bool) {
	if o.Verdict == hooks.Deny {
		return "", false
	}
	return patched(p.Document.Args, o.Args)
}

// suppresses tells whether hooks said that a result is not to be shown.
func (p Payload) suppresses(o hooks.DocumentOutcome) bool {
	now, ok := ended(o)
	return ok && now.Suppress
}

// shaped returns now in the shape of like, for a tool that takes a result of
// another shape for none: where now is text and like is not, the longest text in
// like becomes now, and the others empty.
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

// longestText returns the longest text in v, less what says of which type
// something is.
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

// replaceTexts replaces the texts in v, in the order of their members.
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

// plain returns a result as text: a string as it is, anything else as JSON.
func plain(j hooks.JSON) string {
	if text, ok := textOf(j.Raw()); ok {
		return text
	}
	return string(j)
}

// textOf returns the text that raw is.
func textOf(raw json.RawMessage) (string, bool) {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}
