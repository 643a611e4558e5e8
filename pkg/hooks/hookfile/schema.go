package hookfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/hooktrail/hooktrail/pkg/hooks"
)

type object = map[string]any

// Schema returns the JSON Schema of hooks.yaml, which editors use. The schema cannot check
// patterns, expressions and templates.
func Schema() ([]byte, error) {
	hook := object{"oneOf": hookSchemas()}
	events := object{}
	for _, p := range hooks.Points() {
		for _, name := range append([]string{string(p.Kind)}, p.Aliases...) {
			events[name] = object{"type": "array", "items": object{"$ref": "#/$defs/hook"}, "description": aboutPoint(p)}
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(object{
		"$schema":     "https://json-schema.org/draft/2020-12/schema",
		"title":       "hooks.yaml",
		"description": "Hooks and policies of Hooktrail.",
		"type":        "object",
		"properties": object{
			hooksKey:    object{"type": "object", "properties": events, "additionalProperties": false, "description": "hooks by the event they are for"},
			policiesKey: policiesSchema(),
			failureKey:  described(enum(fileFailureWords...), "block is the on_failure of every hook that has none and can block; warn is the default"),
		},
		"additionalProperties": false,
		"minProperties":        1,
		"$defs":                object{"hook": hook},
	})
	if err != nil {
		return nil, fmt.Errorf("encode schema: %w", err)
	}
	return b.Bytes(), nil
}

func hookSchemas() []any {
	var list []any
	for _, name := range typeNames() {
		t := Type(name)
		properties := object{}
		required := []string{typeKey}
		for _, k := range keys {
			if !k.belongsTo(t) {
				continue
			}
			properties[k.name] = described(k.schema, k.about)
			if k.name == typeKey {
				properties[k.name] = object{"const": name, "description": k.about}
			}
			if slices.Contains(k.required, t) {
				required = append(required, k.name)
			}
		}
		list = append(list, object{
			"title": name + " hook", "type": "object", "properties": properties, "required": required, "additionalProperties": false,
		})
	}
	return list
}

func aboutPoint(p hooks.Point) string {
	about := string(p.Kind)
	if p.Class == hooks.DecisionClass {
		return about + ": hooks decide"
	}
	if p.Class == hooks.TransformClass {
		return about + ": hooks change a value"
	}
	return about + ": hooks are told"
}

func described(schema object, about string) object {
	out := maps.Clone(schema)
	out["description"] = about
	return out
}

func enum(words ...string) object { return object{"type": "string", "enum": words} }

// nonEmpty accepts numbers and booleans, because YAML reads unquoted texts like 42 or true as these
// types.
func nonEmpty() object {
	return object{"type": []string{"string", "number", "boolean"}, "minLength": 1}
}

func urlSchema() object { return object{"type": "string", "pattern": "^https?://"} }

func commandSchema() object {
	return object{"oneOf": []any{
		object{"type": "string", "minLength": 1},
		object{"type": "array", "items": object{"type": "string"}, "minItems": 1},
	}}
}

func matchSchema() object {
	properties := object{argsKey: object{
		"type": "object", "additionalProperties": onePatternOrMore(), "minProperties": 1,
		"description": "patterns of arguments: * is any run of characters, in a path up to the next /, **/ any folders",
	}}
	for _, k := range matchKeys {
		properties[k.name] = described(onePatternOrMore(), k.about)
	}
	return object{"type": "object", "properties": properties, "additionalProperties": false, "minProperties": 1}
}

func onePatternOrMore() object {
	return object{"anyOf": []any{nonEmpty(), object{"type": "array", "items": nonEmpty(), "minItems": 1}}}
}
