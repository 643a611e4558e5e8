package events

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var at = time.Date(2026, 11, 20, 9, 14, 7, 120_000_045, time.UTC)

func full() Event {
	return Event{
		ID: "01939c2e-7f00-7000-8000-000000000001", Source: "/engine", Type: ToolBefore.Type(),
		Subject: "run-1", Time: at, DataContentType: "application/json",
		Tenant: "acme", Producer: "coder/e4", Sequence: 181,
		Run: "run-1", Step: "step-2", Session: "session-3", Agent: "coder", AgentRole: "CODER",
		RunType: "RESOLVE", ParentAgent: "foreman", ParentRun: "run-0", ToolCall: "toolu_1",
		User: "jdoe", AgentFS: "coder", Hooks: "agentfs,beads",
		TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", Salt: "AAECAwQFBgcICQoLDA0ODw",
		Extra: []Attribute{{"partitionkey", json.RawMessage(`"p\u0031"`)}, {"sampled", json.RawMessage(`true`)}, {"rate", json.RawMessage(`7`)}},
		Data:  json.RawMessage(`{"tool":"Bash","args":{"command":"ls -l"},"verdict":"allow"}`),
	}
}

const fullBytes = `{"specversion":"1.0","id":"01939c2e-7f00-7000-8000-000000000001","source":"/engine","type":"hooktrail.tool.before",` +
	`"subject":"run-1","time":"2026-11-20T09:14:07.120000045Z","datacontenttype":"application/json","tenant":"acme",` +
	`"producer":"coder/e4","sequence":"181","runid":"run-1","stepid":"step-2","sessionid":"session-3","agent":"coder",` +
	`"agentrole":"CODER","runtype":"RESOLVE","parentagent":"foreman","parentrun":"run-0","toolcall":"toolu_1","userid":"jdoe",` +
	`"agentfs":"coder","hooks":"agentfs,beads","traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",` +
	`"salt":"AAECAwQFBgcICQoLDA0ODw","partitionkey":"p\u0031","sampled":true,"rate":7,` +
	`"data":{"tool":"Bash","args":{"command":"ls -l"},"verdict":"allow"}}`

func TestEvent_Encode(t *testing.T) {
	e := full()
	if err := e.Validate(); err != nil {
		t.Fatalf("validate: %v", err)
	}
	if diff := cmp.Diff(fullBytes, string(e.Encode())); diff != "" {
		t.Errorf("encode (-want +got):\n%s", diff)
	}
	got, err := Decode([]byte(fullBytes))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(e, got); diff != "" {
		t.Errorf("decode (-want +got):\n%s", diff)
	}
}

func TestAppendString(t *testing.T) {
	for _, text := range []string{
		`quote " backslash \ slash /`, "line\nfeed\r\ttab", "\x00\x01\x1f\x7f", "<script>&amp;", "ünï 世界 🌎 \u2028\u2029",
		"\ufffd\uffff", strings.Repeat("x", 300),
	} {
		b := appendString(nil, text)
		var got string
		if err := json.Unmarshal(b, &got); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if got != text {
			t.Errorf("got %q, want %q", got, text)
		}
	}
}

func TestEvent_SetData(t *testing.T) {
	for _, tc := range []struct {
		name    string
		payload any
		want    string
	}{
		{"None", nil, ""},
		{"KeepsAngleBrackets", map[string]string{"a": "<b> & c"}, `{"a":"<b> & c"}`},
		{"Compacts", json.RawMessage("{ \"a\" : [ 1 ,\n 2 ] }"), `{"a":[1,2]}`},
		{"KeepsEscapesOfRaw", json.RawMessage(`"\u00e9\/\ud83c\udf0e"`), `"\u00e9\/\ud83c\udf0e"`},
		{"RepairsLoneSurrogate", json.RawMessage(`{"a":"cut \ud83c","b":"\\ud83c"}`), `{"a":"cut \ufffd","b":"\\ud83c"}`},
		{"RepairsReversedSurrogates", json.RawMessage(`"\udf0e\ud83c"`), `"\ufffd\ufffd"`},
		{"RepairsInvalidUTF8", json.RawMessage("\"a\xffb\""), "\"a\ufffdb\""},
		{"RepairsGoStrings", "a\xffb", `"a\ufffdb"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := Event{ID: "1", Source: "/s", Type: "com.example"}
			if err := e.SetData(tc.payload); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(e.Data)); diff != "" {
				t.Errorf("data (-want +got):\n%s", diff)
			}
			if err := e.Validate(); err != nil {
				t.Errorf("validate: %v", err)
			}
		})
	}
	e := Event{Type: "com.example"}
	if err := e.SetData(func() {}); err == nil {
		t.Error("a function became data")
	}
}

func TestNew(t *testing.T) {
	e, err := New(ToolBefore, "/engine", ToolBeforeData{Tool: "Bash"})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Normalize(); err != nil {
		t.Fatal(err)
	}
	p, err := Payload[ToolBeforeData](e)
	if err != nil || p.Tool != "Bash" || e.Kind() != ToolBefore {
		t.Errorf("got %+v, %v, kind %s", p, err, e.Kind())
	}
	e.Data = json.RawMessage(`{"tool":7}`)
	if _, err := Payload[ToolBeforeData](e); err == nil {
		t.Error("a number became a tool's name")
	}
}

func TestEvent_Normalize_RunFromSubject(t *testing.T) {
	for typ, want := range map[string]string{RunStarted.Type(): "r", "com.example.started": ""} {
		e := Event{ID: "1", Source: "/s", Type: typ, Subject: "r", Time: at, Data: json.RawMessage("{}")}
		if err := e.Normalize(); err != nil || e.Run != want || e.Subject != "r" {
			t.Errorf("%s: got run %q, subject %q, %v; want run %q", typ, e.Run, e.Subject, err, want)
		}
	}
}

func TestEvent_Normalize(t *testing.T) {
	e := Event{
		ID: "1", Source: "/s", Type: StepFinished.Type(), Run: "r", RunType: "plan",
		Time: at.In(time.FixedZone("", 3600)),
		Data: json.RawMessage("{\"run_type\": \"re\\u0073olve\",\n \"step_status\": \"completed\"}"),
	}
	before := string(e.Data)
	alias := e.Data
	if err := e.Normalize(); err != nil {
		t.Fatal(err)
	}
	want := Event{
		ID: "1", Source: "/s", Type: StepFinished.Type(), Run: "r", RunType: "PLAN", Subject: "r", Time: at,
		Data: json.RawMessage(`{"run_type":"RESOLVE","step_status":"completed"}`),
	}
	if diff := cmp.Diff(want, e); diff != "" {
		t.Errorf("normalize (-want +got):\n%s", diff)
	}
	if string(alias) != before {
		t.Error("the caller's bytes were written to")
	}
	if e.Time.Location() != time.UTC {
		t.Errorf("location %v, want UTC", e.Time.Location())
	}
}

func wantInvalid(t *testing.T, err error, attribute, reason string, offset int) {
	t.Helper()
	var invalid *InvalidError
	switch {
	case !errors.As(err, &invalid):
		t.Errorf("got %v, want an InvalidError about %s", err, attribute)
	case invalid.Attribute != attribute || !strings.Contains(invalid.Reason, reason):
		t.Errorf("got %q, want attribute %q and reason %q", err, attribute, reason)
	case invalid.Offset != offset:
		t.Errorf("got %q, want offset %d", err, offset)
	}
}

func TestEvent_Enabled(t *testing.T) {
	for hooks, want := range map[string]bool{
		"": true, "beads": true, "agentfs,beads": true, "agentfs, Beads": true, "agentfs": false, "none": false, "beadsx": false,
	} {
		if got := (Event{Hooks: hooks}).Enabled("beads"); got != want {
			t.Errorf("hooks %q: got %v, want %v", hooks, got, want)
		}
	}
}
