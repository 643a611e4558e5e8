package hookfile

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
)

const schemaFile = "../../../docs/hooks.schema.json"

// With -update, TestSchema rewrites the schema.
func TestSchema(t *testing.T) {
	schema, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, schemaFile, schema)
}

func compiled(t testing.TB) *jsonschema.Schema {
	t.Helper()
	data, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("hooks.schema.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("hooks.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func agrees(t testing.TB, schema *jsonschema.Schema, text string) error {
	t.Helper()
	var value any
	if err := yaml.Load([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return schema.Validate(value)
}

func TestSchemaTakesExamples(t *testing.T) {
	schema := compiled(t)
	examples, err := filepath.Glob("testdata/example*.yaml")
	if err != nil || len(examples) < 2 {
		t.Fatalf("got examples %v, %v", examples, err)
	}
	for _, path := range examples {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := agrees(t, schema, string(data)); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if f, err := Load(path); err != nil || len(f.Warnings) > 0 {
			t.Errorf("%s: %v, %v", path, f, err)
		}
	}
}

func TestSchemaTakesDocumentation(t *testing.T) {
	data, err := os.ReadFile("../../../docs/hooks-yaml.md")
	if err != nil {
		t.Fatal(err)
	}
	schema := compiled(t)
	blocks := strings.Split(string(data), "\n```yaml")[1:]
	if len(blocks) < 5 {
		t.Fatalf("got %d examples", len(blocks))
	}
	for _, block := range blocks {
		name, text, _ := strings.Cut(block, "\n")
		text, _, _ = strings.Cut(text, "\n```")
		if err := agrees(t, schema, text); (err == nil) == strings.Contains(name, "wrong") {
			t.Errorf("%v:\n%s", err, text)
		}
	}
}

func TestSchemaRefuses(t *testing.T) {
	schema := compiled(t)
	for _, text := range []string{
		"{}", "hook: {}", "hooks: {PreToolUze: []}", "hooks: {PreToolUse: {}}", "hooks: {PreToolUse: [{}]}",
		"hooks: {PreToolUse: [{type: command}]}", "hooks: {PreToolUse: [{type: comand, command: x}]}",
		"hooks: {PreToolUse: [{type: command, command: x, model: y}]}", "hooks: {PreToolUse: [{type: command, command: []}]}",
		"hooks: {PreToolUse: [{type: matcher, match: {}, action: block}]}", "hooks: {PreToolUse: [{type: matcher, match: {tool: x}, action: deny}]}",
		"hooks: {PreToolUse: [{type: command, command: x, timeout_ms: 0}]}", "hooks: {PreToolUse: [{type: command, command: x, on_failure: stop}]}",
		"hooks: {PreToolUse: [{type: llm, model: x, prompt: y, max_tokens: 5000}]}", "hooks: {PreToolUse: [{type: http, url: ftp}]}",
		"policies: {scrubPII: true}", "policies: {presets: [x]}", "policies: {mode: loose}",
	} {
		if agrees(t, schema, text) == nil {
			t.Errorf("the schema takes %s", text)
		}
		f, err := Parse("x", []byte(text))
		if tolerated := strings.Contains(text, "timeout_ms") || text == "{}"; err == nil && !tolerated {
			t.Errorf("the reader takes %s: %v", text, f)
		}
	}
}
