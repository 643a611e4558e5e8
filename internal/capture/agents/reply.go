package agents

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// answer is a JSON object of an answer. Equal answers are equal bytes.
type answer map[string]any

func (a answer) set(name string, value any) { a[name] = value }

func (a answer) text(name, value string) {
	if value != "" {
		a[name] = value
	}
}

func (a answer) block(o hooks.DocumentOutcome) {
	if o.Verdict == hooks.Deny {
		a.set("decision", "block")
		a.text("reason", o.Reason)
	}
}

func (a answer) reply() Reply {
	if len(a) == 0 {
		return Reply{}
	}
	return Reply{Stdout: append(document(a).Raw(), '\n')}
}

func (a answer) decide(o hooks.DocumentOutcome) {
	if o.Verdict != hooks.None && o.Verdict != "" {
		a.set("permissionDecision", o.Verdict)
		a.text("permissionDecisionReason", o.Reason)
	}
}

// decideFor sets the decision on behalf of a person if the verdict is allow or deny.
func (a answer) decideFor(o hooks.DocumentOutcome) {
	if d := decisionOf(o); d != nil {
		a.set("decision", d)
	}
}

func (a answer) special(event string, special answer) {
	if len(special) > 0 {
		special.set("hookEventName", event)
		a.set("hookSpecificOutput", special)
	}
}

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

func (p Payload) suppresses(o hooks.DocumentOutcome) bool {
	now, ok := outcomeOf(o)
	return ok && now.Suppress
}

// shaped returns now in the shape of like, because a tool ignores a result of another
// shape. If now is a text and like is not, now replaces the longest text of like, and
// the other texts become empty.
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

func plain(j hooks.JSON) string {
	if text, ok := textOf(j.Raw()); ok {
		return text
	}
	return string(j)
}

func textOf(raw json.RawMessage) (string, bool) {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}
