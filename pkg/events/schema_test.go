package events

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	generate "github.com/invopop/jsonschema"
	check "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/hooktrail/hooktrail/internal/testkit/race"
)

const schemaDir = "schema"

func TestSchemas(t *testing.T) {
	r := reflector(t)
	for _, k := range Kinds() {
		payload, _ := PayloadOf(k)
		golden(t, filepath.Join(schemaDir, string(k)+".json"), indent(t, payloadSchema(r, k, payload)))
	}
	golden(t, filepath.Join(schemaDir, "event.json"), indent(t, eventSchema(r)))
	stale(t, schemaDir, "event.json")
}

// reflector generates schemas with the comments and enums of this package.
func reflector(t *testing.T) *generate.Reflector {
	t.Helper()
	r := &generate.Reflector{Anonymous: true, ExpandedStruct: true, DoNotReference: true, AllowAdditionalProperties: true}
	r.Mapper = func(t reflect.Type) *generate.Schema {
		values, ok := enums[t]
		switch {
		case t.Kind() == reflect.Uint64:
			return &generate.Schema{Type: "integer", Minimum: "0"}
		case !ok:
			return nil
		}
		s := &generate.Schema{Type: "string"}
		for _, v := range values {
			s.Enum = append(s.Enum, v)
		}
		return s
	}
	if err := r.AddGoComments("github.com/hooktrail/hooktrail/pkg/events", "./"); err != nil {
		t.Fatal(err)
	}
	for name, comment := range r.CommentMap {
		r.CommentMap[name] = strings.Join(strings.Fields(comment), " ")
	}
	return r
}

func payloadSchema(r *generate.Reflector, k Kind, payload any) *generate.Schema {
	s := r.Reflect(payload)
	s.Title = "data of " + k.Type()
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		if p.Key != blobsField {
			optional(p.Value)
		}
	}
	if len(s.Required) > 0 {
		// A field that was too large is named in blobs instead.
		s.AnyOf = []*generate.Schema{{Required: s.Required}, {Required: []string{blobsField}}}
		s.Required = nil
	}
	return s
}

// optional removes required fields that Validate does not enforce.
func optional(s *generate.Schema) {
	if s == nil {
		return
	}
	s.Required = nil
	optional(s.Items)
	optional(s.AdditionalProperties)
	if s.Properties == nil {
		return
	}
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		optional(p.Value)
	}
}

// eventSchema returns the schema of the envelope with references to the payloads.
func eventSchema(r *generate.Reflector) *generate.Schema {
	s := r.Reflect(plainEvent{})
	s.Title = "A Hooktrail event"
	s.Description = "CloudEvents 1.0 in JSON structured mode. Attributes that are not listed here are allowed, as CloudEvents has it."
	s.Required = []string{"specversion", "id", "source", "type"}
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		if p.Key != "data" {
			p.Value = &generate.Schema{Type: "string"}
		}
	}
	minLength := uint64(1)
	for _, name := range s.Required {
		s.Properties.Set(name, &generate.Schema{Type: "string", MinLength: &minLength})
	}
	s.Properties.Set("specversion", &generate.Schema{Const: specVersion})
	s.Properties.Set("time", &generate.Schema{Type: "string", Format: "date-time"})
	s.Properties.Set("sequence", &generate.Schema{Type: "string", Pattern: "^[1-9][0-9]{0,19}$"})
	s.Properties.Set("data_base64", &generate.Schema{Type: "string", ContentEncoding: "base64"})
	s.PropertyNames = &generate.Schema{Pattern: "^([a-z0-9]+|data_base64)$"}
	for _, k := range Kinds() {
		when, then := generate.NewProperties(), generate.NewProperties()
		when.Set("type", &generate.Schema{Const: k.Type()})
		then.Set("data", &generate.Schema{Ref: string(k) + ".json"})
		required := []string{"time"}
		if payloadIsRequired(k) {
			required = append(required, "data")
		}
		if needsRun(k) {
			required = append(required, "runid")
		}
		s.AllOf = append(s.AllOf, &generate.Schema{
			If:   &generate.Schema{Properties: when},
			Then: &generate.Schema{Properties: then, Required: required},
		})
	}
	return s
}

func payloadIsRequired(k Kind) bool { return shapeOfKind(k).required != 0 }

func indent(t *testing.T, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func compiled(t *testing.T) *check.Schema {
	t.Helper()
	c := check.NewCompiler()
	c.AssertFormat()
	s, err := c.Compile(filepath.Join(schemaDir, "event.json"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSchemas_AcceptTheGoldens(t *testing.T) {
	s := compiled(t)
	for _, k := range Kinds() {
		data, err := os.ReadFile(filepath.Join("testdata", "kinds", string(k)+".json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := validateSchema(t, s, data); err != nil {
			t.Errorf("%s: %v", k, err)
		}
	}
}

func validateSchema(t *testing.T, s *check.Schema, data []byte) error {
	t.Helper()
	v, err := check.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(v)
}

func TestSchemas_AgreeWithValidate(t *testing.T) {
	others := []string{"", `"x"`, `1`, `-1`, `1.5`, `true`, `[]`, `[1]`, `{}`, `{"a":1}`}[:race.Size(10, 3)]
	s := compiled(t)
	for _, k := range Kinds() {
		e := sample(t, k)
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(e.Data, &fields); err != nil {
			t.Fatal(err)
		}
		delete(fields, blobsField)
		for name, value := range fields {
			for _, other := range others {
				if other == "" {
					delete(fields, name)
				} else {
					fields[name] = json.RawMessage(other)
				}
				changed := e
				if err := changed.SetData(fields); err != nil {
					t.Fatal(err)
				}
				ours, theirs := changed.Validate(), validateSchema(t, s, changed.Encode())
				if (ours == nil) != (theirs == nil) && !knownDifference(k, theirs) {
					t.Errorf("%s with %s = %q: Validate says %v, the schema %v", k, name, other, ours, theirs)
				}
			}
			fields[name] = value
		}
	}
}

// knownDifference reports whether the values of kind k depend on each other, which JSON Schema
// cannot express.
func knownDifference(k Kind, schema error) bool {
	return schema == nil && (k == RunSealed || k == GapRecorded || k == BlobChunk)
}

func ExampleInvalidError() {
	_, err := Decode([]byte(`{"specversion":"1.0","id":"1","source":"/s","type":"t","time":"yesterday"}`))
	fmt.Println(err)
	// Output:
	// decode event: attribute time: not a time of RFC 3339 (byte 62)
}
