package events

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	check "github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"github.com/hooktrail/hooktrail/internal/testkit/realdata"
)

// cloudevents returns a file of the CloudEvents specification or its conformance suite, or skips
// the test.
func cloudevents(t *testing.T, parts ...string) string {
	t.Helper()
	return realdata.Path(t, append([]string{"cloudevents"}, parts...)...)
}

type example struct {
	name       string
	structured []byte
	attributes map[string]string
	data       []byte // as JSON
}

// yamlExamples returns the events of a YAML file of the suite. Data of a JSON type is JSON, other
// data is a string.
func yamlExamples(t *testing.T, parts ...string) []example {
	t.Helper()
	f, err := os.Open(cloudevents(t, parts...))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []example
	for dec := yaml.NewDecoder(f); ; {
		var doc struct {
			ContextAttributes map[string]yaml.Node `yaml:"ContextAttributes"`
			Data              string               `yaml:"Data"`
		}
		if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		x := example{name: doc.ContextAttributes["id"].Value, attributes: map[string]string{}}
		for name, node := range doc.ContextAttributes {
			if node.Kind == yaml.ScalarNode {
				x.attributes[name] = node.Value
				continue
			}
			for i := 0; i+1 < len(node.Content); i += 2 {
				x.attributes[node.Content[i].Value] = node.Content[i+1].Value
			}
		}
		x.data = marshal(t, doc.Data)
		if contentType := x.attributes["datacontenttype"]; contentType == "" || strings.HasPrefix(contentType, "application/json") {
			x.data = []byte(doc.Data)
		}
		members := map[string]any{"data": json.RawMessage(x.data)}
		for name, value := range x.attributes {
			members[name] = value
		}
		x.structured = marshal(t, members)
		list = append(list, x)
	}
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var (
	docstring = regexp.MustCompile(`(?s)"""\n(.*?)"""`)
	tableRow  = regexp.MustCompile(`(?m)^\s*\|\s*(\S+)\s*\|\s*(.*?)\s*\|$`)
)

// featureExamples returns the events of the scenarios "Structured content mode" of a feature file
// of the suite.
func featureExamples(t *testing.T, parts ...string) []example {
	t.Helper()
	text, err := os.ReadFile(cloudevents(t, parts...))
	if err != nil {
		t.Fatal(err)
	}
	var list []example
	for _, scenario := range strings.Split(string(text), "Scenario")[1:] {
		if !strings.Contains(scenario, "Structured content mode") {
			continue
		}
		docs := docstring.FindAllStringSubmatch(scenario, -1)
		if len(docs) != 2 {
			t.Fatalf("%d texts in a scenario, want the event and its data", len(docs))
		}
		event := docs[0][1]
		_, then, _ := strings.Cut(scenario, "the attributes are:")
		x := example{
			name:       parts[len(parts)-1],
			structured: []byte(event[strings.Index(event, "{"):]),
			attributes: map[string]string{},
			data:       []byte(docs[1][1]),
		}
		then, _, _ = strings.Cut(then, "the data is")
		for _, row := range tableRow.FindAllStringSubmatch(then, -1) {
			if row[1] != "key" {
				x.attributes[row[1]] = row[2]
			}
		}
		list = append(list, x)
	}
	if len(list) == 0 {
		t.Error("no scenario was found")
	}
	return list
}

func TestConformance(t *testing.T) {
	examples := featureExamples(t, "conformance", "features", "http-protocol-binding.feature")
	examples = append(examples, featureExamples(t, "conformance", "features", "kafka-protocol-binding.feature")...)
	examples = append(examples, yamlExamples(t, "conformance", "yaml", "v1.yaml")...)
	examples = append(examples, yamlExamples(t, "conformance", "yaml", "v1.0", "v1_minimum.yaml")...)
	if len(examples) < 10 {
		t.Errorf("only %d examples were found", len(examples))
	}
	official := officialSchema(t)
	for _, x := range examples {
		t.Run(x.name, func(t *testing.T) {
			e, err := Decode(x.structured)
			if err != nil {
				t.Fatal(err)
			}
			if err := e.Validate(); err != nil {
				t.Fatal(err)
			}
			out := e.Encode()
			checkKept(t, x.structured, out)
			if again, err := Decode(out); err != nil || !bytes.Equal(out, again.Encode()) {
				t.Errorf("not a fixed point: %s, %v", out, err)
			}
			if err := validateSchema(t, official, out); err != nil {
				t.Errorf("against the schema of CloudEvents: %v", err)
			}
			checkExample(t, x, out)
		})
	}
}

func checkExample(t *testing.T, x example, out []byte) {
	t.Helper()
	var got map[string]any
	var want any
	if err := errors.Join(json.Unmarshal(out, &got), json.Unmarshal(x.data, &want)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got["data"]); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
	for name, value := range x.attributes {
		if name == "time" {
			wantTime, reason := parseTime(value)
			if reason != "" {
				t.Fatal(reason)
			}
			value = string(appendTime(nil, wantTime))
		}
		if got[name] != value {
			t.Errorf("attribute %s: got %v, want %s", name, got[name], value)
		}
	}
}

func TestConformance_RefusesVersion03(t *testing.T) {
	examples := yamlExamples(t, "conformance", "yaml", "v03.yaml")
	examples = append(examples, yamlExamples(t, "conformance", "yaml", "v0.3", "v03_minimum.yaml")...)
	for _, x := range examples {
		_, err := Decode(x.structured)
		var invalid *InvalidError
		if !errors.As(err, &invalid) || invalid.Attribute != "specversion" || invalid.Reason != "only CloudEvents 1.0 is supported" {
			t.Errorf("%s: got %v, want a refusal of its specversion", x.name, err)
		}
	}
}

func officialSchema(t *testing.T) *check.Schema {
	t.Helper()
	s, err := check.NewCompiler().Compile(cloudevents(t, "spec", "cloudevents.json"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Other CloudEvents libraries accept the encoding.
func TestConformance_GoldensAreCloudEvents(t *testing.T) {
	s := officialSchema(t)
	for _, k := range Kinds() {
		if err := validateSchema(t, s, sample(t, k).Encode()); err != nil {
			t.Errorf("%s: %v", k, err)
		}
	}
}

func TestConformance_SpecificationExamples(t *testing.T) {
	text, err := os.ReadFile(cloudevents(t, "spec", "cloudevents.json"))
	if err != nil {
		t.Fatal(err)
	}
	var spec struct {
		Properties map[string]struct{ Examples []any }
	}
	if err := json.Unmarshal(text, &spec); err != nil {
		t.Fatal(err)
	}
	for name, property := range spec.Properties {
		for _, value := range property.Examples {
			members := map[string]any{"specversion": "1.0", "id": "1", "source": "/s", "type": "com.example"}
			members[name] = value
			in := marshal(t, members)
			e, err := Decode(in)
			if err == nil {
				err = e.Validate()
			}
			if err != nil {
				t.Errorf("%s = %v: %v", name, value, err)
				continue
			}
			checkKept(t, in, e.Encode())
		}
	}
}
