package hooks

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestJSON_Text(t *testing.T) {
	tests := []struct {
		doc, key, want string
		found          bool
	}{
		{`{"command":"ls"}`, "command", "ls", true},
		{` { "a" : { "command" : "no" } , "command" : "ls" } `, "command", "ls", true},
		{`{"command":"ls \"x\" \u00e9 é"}`, "command", `ls "x" é é`, true},
		{`{"a":["command","x"],"b":"command"}`, "command", "", false},
		{`{"command":"first","command":"last"}`, "command", "last", true},
		{`{"command":"first","command":3}`, "command", "", false},
		{`{"com\u006dand":"ls"}`, "command", "ls", true},
		{`{"Command":"ls"}`, "command", "", false},
		{`{"command":""}`, "command", "", true},
		{`{"command":null}`, "command", "", false},
		{`{"":"x"}`, "", "x", true},
		{`{}`, "", "", false},
		{`["command"]`, "command", "", false},
		{`"command"`, "command", "", false},
		{`{"command":"ls"`, "command", "", false},
		{``, "command", "", false},
		{`{"a":"}\\","command":"ls"}`, "command", "ls", true},
		{`{"a":-1.5e3,"command":"ls"}`, "command", "ls", true},
		{"{\"command\":\"\xff\"}", "command", "\ufffd", true},
	}
	for _, tt := range tests {
		got, found := JSON(tt.doc).Text(tt.key)
		if got != tt.want || found != tt.found {
			t.Errorf("%s of %s: %q, %t", tt.key, tt.doc, got, found)
		}
	}
}

func TestJSON_TextAllocatesNothing(t *testing.T) {
	doc := JSON(`{"description":"list the files of the build","command":"ls -la build/out"}`)
	if n := testing.AllocsPerRun(100, func() { _, _ = doc.Text("command") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzJSON_Text(f *testing.F) {
	for _, doc := range []string{`{"a":"b"}`, `{"a":"\n","a":{"a":"x"}}`, ` {"a" : [1,{"a":2}] , "":"" }`, `null`, `{"\u0061":"b"}`} {
		f.Add(doc, "a")
	}
	f.Fuzz(func(t *testing.T, doc, key string) {
		got, found := JSON(doc).Text(key)
		var m map[string]json.RawMessage
		var value any
		if json.Unmarshal([]byte(doc), &m) == nil && m[key] != nil {
			_ = json.Unmarshal(m[key], &value) // a number can be too large for float64
		}
		want, wanted := value.(string)
		if got != want || found != wanted {
			t.Errorf("%q of %q: %q, %t; want %q, %t", key, doc, got, found, want, wanted)
		}
	})
}

func TestJSON_Texts(t *testing.T) {
	short := func(name string) bool { return len(name) == 1 }
	for doc, want := range map[JSON][]string{
		`{"a":"x","bb":"y","c":7,"d":{"e":"z"},"\u0066":"\u0067","a":"h"}`: {"x", "g", "h"},
		`{"a":["x"]}`: nil, `["a"]`: nil, `{"a":"x"`: nil, ``: nil, ` { } `: nil,
	} {
		if got := doc.Texts(short); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", doc, got, want)
		}
	}
}

func TestJSON_CannotBeChanged(t *testing.T) {
	raw := json.RawMessage(`{"a":1}`)
	j := FromRaw(raw)
	raw[2] = 'b'
	j.Raw()[2] = 'c'
	m, err := j.Map()
	if err != nil {
		t.Fatal(err)
	}
	m["a"] = 2
	if again, err := j.Map(); err != nil || j != `{"a":1}` || again["a"] != 1.0 {
		t.Errorf("got %s, %v, %v", j, again, err)
	}
}

func TestJSON_InsideOthers(t *testing.T) {
	type box struct {
		Doc  JSON `json:"doc"`
		None JSON `json:"none"`
		Left JSON `json:"left,omitempty"`
	}
	text, err := Marshal(box{Doc: `{"a":"<b>"}`})
	if err != nil || text != `{"doc":{"a":"<b>"},"none":null}` {
		t.Fatalf("got %s, %v", text, err)
	}
	var back box
	if err := text.Decode(&back); err != nil || back.Doc != `{"a":"<b>"}` || back.None != "" {
		t.Errorf("got %+v, %v", back, err)
	}
	if _, err := Marshal(box{Doc: `{"hunter2`}); err == nil {
		t.Error("a document that is no JSON was encoded")
	}
}

func TestJSON_ErrorsNameNoPayload(t *testing.T) {
	var n int
	if err := JSON(`"hunter2"`).Decode(&n); err == nil || err.Error() != "decode *int: not the JSON that is wanted" {
		t.Errorf("got %v", err)
	}
}
