package events

import (
	"encoding/json"
	"strings"
	"testing"
)

// FuzzMembers checks Members with the decoder of encoding/json. It also checks that one member is
// enough for a denial and for a success, also for the reader of Payload.
func FuzzMembers(f *testing.F) {
	for _, data := range []string{
		`{}`, `{"verdict":"deny"}`, `{"Verdict":"d\u0065ny","verdict":"allow"}`, `{"statuſ":"success","a":[1,{"b":"c"}]}`, `[{"verdict":"deny"}]`, `{"a":1,}`,
		`{"verdict":"deny"`, ` { "status" : "success" , "x" : -1e9 } `, `"deny"`, ``,
	} {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data string) {
		s := scanner{data: []byte(data)}
		if s.value(1) != nil || s.pos < len(data) {
			for range Members([]byte(data)) { // ends without a panic
			}
			return
		}
		names, values := decodedMembers(data)
		i := 0
		for name, value := range Members([]byte(data)) {
			if i >= len(names) || name != names[i] || strings.TrimSpace(string(value)) != values[i] {
				t.Fatalf("%q: member %d is %q: %s", data, i, name, value)
			}
			i++
		}
		if i != len(names) {
			t.Fatalf("%q: %d of %d members", data, i, len(names))
		}
		denial := Event{Type: ToolBefore.Type(), Data: []byte(data)}
		success := Event{Type: ToolResult.Type(), Data: []byte(data)}
		if got, want := denial.DeniesCall(), has(names, values, "verdict", "deny"); got != want {
			t.Errorf("%q: denies %t, want %t", data, got, want)
		}
		if got, want := success.CallSucceeded(), has(names, values, "status", "success"); got != want {
			t.Errorf("%q: succeeded %t, want %t", data, got, want)
		}
		if d, err := Payload[ToolBeforeData](denial); denial.DeniesCall() && (err != nil || d.Verdict != VerdictDeny) {
			t.Errorf("%q: Payload has verdict %q, %v", data, d.Verdict, err)
		}
		if d, err := Payload[ToolResultData](success); success.CallSucceeded() && (err != nil || d.Status != ToolSuccess) {
			t.Errorf("%q: Payload has status %q, %v", data, d.Status, err)
		}
		if denial.CallSucceeded() || success.DeniesCall() {
			t.Errorf("%q: events of other kinds count", data)
		}
	})
}

func decodedMembers(data string) (names, values []string) {
	d := json.NewDecoder(strings.NewReader(data))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, nil
	}
	for d.More() {
		token, _ := d.Token()
		name, _ := token.(string)
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return names, values
		}
		names, values = append(names, name), append(values, string(value))
	}
	return names, values
}

func has(names, values []string, name, want string) bool {
	for i, n := range names {
		var text string
		if strings.EqualFold(n, name) && json.Unmarshal([]byte(values[i]), &text) == nil && text == want {
			return true
		}
	}
	return false
}
