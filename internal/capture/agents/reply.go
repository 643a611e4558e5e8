package agents

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/hooktrail/hooktrail/pkg/hooks"
)

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

// shaped gives a changed result the JSON shape of the original result, because a tool ignores other
// shapes.
func shaped(original, changed hooks.JSON) hooks.JSON {
	text, isText := textOf(changed.Raw())
	if _, same := textOf(original.Raw()); !isText || same {
		return changed
	}
	var v any
	if original.Decode(&v) != nil {
		return changed
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

// replaceTexts keeps the values of members named "type", because the agent interprets them.
func replaceTexts(v any, replace func(string) string) any {
	switch v := v.(type) {
	case string:
		return replace(v)
	case []any:
		for i := range v {
			v[i] = replaceTexts(v[i], replace)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if name != "type" {
				v[name] = replaceTexts(v[name], replace)
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
