package ocsf

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// The tables are copied from the schema at the commit that [Version] names: events/*.json,
// objects/*.json and profiles/security_control.json.
var (
	baseRequired = []string{"activity_id", "category_uid", "class_uid", "metadata", "severity_id", "time", "type_uid"}
	baseKnown    = append([]string{
		"activity_name", "message", "raw_data_hash", "status_code", "status_detail", "status_id", "unmapped",
	}, baseRequired...)

	classTable = map[int]struct {
		category        int
		activities      []int
		required, known []string
	}{
		0:    {0, []int{0, 99}, nil, nil},
		2004: {2, []int{0, 1, 2, 3, 99}, []string{"finding_info"}, []string{"is_alert"}},
		6002: {6, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 99}, []string{"app"}, nil},
		6003: {6, []int{0, 1, 2, 3, 4, 99}, []string{"actor", "api", "src_endpoint"}, nil},
		6005: {6, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 99}, []string{"actor", "src_endpoint"}, []string{"database", "type_id"}},
		6008: {6, []int{0, 1, 2, 99}, nil, nil},
	}

	objectTable = map[string]struct{ required, oneOf, known []string }{
		"metadata": {
			[]string{"product", "version"},
			nil,
			[]string{"profiles", "uid", "sequence", "event_code", "correlation_uid", "log_name", "logged_time", "tenant_uid", "is_truncated"},
		},
		"product":       {nil, []string{"name", "uid"}, []string{"vendor_name", "version"}},
		"app":           {nil, []string{"name", "uid"}, []string{"vendor_name", "version"}},
		"actor":         {nil, []string{"process", "user", "invoked_by", "session", "app_name", "app_uid"}, nil},
		"user":          {nil, []string{"account", "name", "uid"}, nil},
		"session":       {nil, nil, []string{"uid"}},
		"api":           {[]string{"operation"}, nil, []string{"service", "request", "response"}},
		"service":       {nil, []string{"name", "uid"}, nil},
		"request":       {[]string{"uid"}, nil, []string{"data"}},
		"response":      {nil, nil, []string{"code", "error_message"}},
		"src_endpoint":  {nil, []string{"name", "uid"}, nil},
		"database":      {[]string{"type_id"}, []string{"name", "uid"}, []string{"type"}},
		"finding_info":  {[]string{"uid"}, nil, []string{"title", "types"}},
		"raw_data_hash": {[]string{"algorithm_id", "value"}, nil, nil},
	}
)

func check(tb testing.TB, line []byte) map[string]any {
	tb.Helper()
	var r map[string]any
	if err := json.Unmarshal(line, &r); err != nil {
		tb.Fatalf("%s: %v", line, err)
	}
	number := func(name string) int { n, _ := r[name].(float64); return int(n) }
	c, ok := classTable[number("class_uid")]
	if !ok || c.category != number("category_uid") || !slices.Contains(c.activities, number("activity_id")) ||
		number("type_uid") != number("class_uid")*100+number("activity_id") {
		tb.Errorf("class, category, activity and type differ: %s", line)
	}
	known := slices.Concat(baseKnown, c.required, c.known)
	if m, ok := r["metadata"].(map[string]any); ok && m["profiles"] != nil {
		known = append(known, "action_id", "disposition_id")
	}
	attributes(tb, "row", r, slices.Concat(baseRequired, c.required), nil, known)
	if number("activity_id") == 99 && r["activity_name"] == nil {
		tb.Errorf("activity 99 without a name: %s", line)
	}
	return r
}

func attributes(tb testing.TB, name string, object map[string]any, required, oneOf, known []string) {
	tb.Helper()
	has := func(a string) bool { return object[a] != nil }
	for _, a := range required {
		if !has(a) {
			tb.Errorf("%s has no %s: %v", name, a, object)
		}
	}
	if len(oneOf) > 0 && !slices.ContainsFunc(oneOf, has) {
		tb.Errorf("%s has none of %v: %v", name, oneOf, object)
	}
	for a, value := range object {
		if !slices.Contains(slices.Concat(required, oneOf, known), a) {
			tb.Errorf("%s has an unknown attribute %s", name, a)
		}
		o, ok := objectTable[a]
		inner, isObject := value.(map[string]any)
		if ok && isObject && name != "request" {
			attributes(tb, a, inner, o.required, o.oneOf, o.known)
		}
	}
}

func entry(kind events.Kind, payload string) ledger.Entry {
	e := events.Event{
		ID: "01932d4e-8a2b-7c41-9f0e-5d6c7b8a9f01", Source: "/test", Type: kind.Type(), Time: time.Unix(1, 0).UTC(),
		Tenant: "acme", Producer: "coder", Sequence: 7, Run: "r1", ToolCall: "c1", User: "u1", Session: "s1", Data: json.RawMessage(payload),
	}
	data := e.Append(nil)
	return ledger.Entry{
		Leaf: 9, Class: ledger.ClassEvent, ID: e.ID, Producer: e.Producer, Sequence: 7, Run: e.Run, Kind: kind, Time: e.Time,
		Stored: time.Unix(2, 0), Hash: events.HashOf(data), Bytes: data,
	}
}

// Each kind of event, erased or not, and each class of record gives a row that fits the schema.
//
//guarantee:ocsf
func TestRow_FitsTheSchema(t *testing.T) {
	for _, kind := range append(events.Kinds(), "unknown.kind") {
		for _, payload := range []string{
			`{}`, `{"tool":"Bash","verdict":"deny","reason":"no","success":false,"error":{"message":"m"},"step_status":"failed"}`,
			`{"verdict":"allow","success":true,"status":"success","action":"erase","by":"jdoe","error":"text","exit_code":3}`,
			`{"tool":7,"success":"x","error":[],"args":{"a":"` + strings.Repeat("x", 5000) + `"},"reason":"` + strings.Repeat("ü", 5000) + `"}`,
		} {
			e := entry(kind, payload)
			line, err := Row("acme", e)
			if err != nil {
				t.Fatal(err)
			}
			r := check(t, line)
			if len(line) > 12<<10 || !bytes.Contains(line, []byte(`"leaf":9`)) || !bytes.Contains(line, []byte(e.Hash.String())) ||
				!bytes.Contains(line, []byte(`"ledger":"hooktrail/acme"`)) || !bytes.Contains(line, []byte(e.ID)) {
				t.Errorf("%s cannot be proved from %s", kind, line)
			}
			if again, err := Row("acme", e); err != nil || !bytes.Equal(line, again) {
				t.Errorf("%s: the second row is %s, %v", kind, again, err)
			}
			e.Bytes, e.Removal = nil, ledger.Removal{Word: "erased", Order: 11}
			if line, err = Row("acme", e); err != nil || !bytes.Contains(line, []byte(`"removed":"erased"`)) || bytes.Contains(line, []byte("Bash")) {
				t.Errorf("%s erased: %s, %v", kind, line, err)
			}
			if erased := check(t, line); erased["class_uid"] != r["class_uid"] && kind != events.HookExecuted {
				t.Errorf("%s erased has class %v, want %v", kind, erased["class_uid"], r["class_uid"])
			}
		}
	}
	for _, class := range []ledger.Class{ledger.ClassManifest, ledger.ClassConflict, ledger.ClassQuarantine} {
		line, err := Row("a/b", ledger.Entry{Leaf: 3, Class: class, Finding: ledger.FindingIDReused, Bytes: []byte("\xff")})
		if err != nil {
			t.Fatal(err)
		}
		check(t, line)
	}
}

func TestRow_Classes(t *testing.T) {
	for _, tt := range []struct {
		entry ledger.Entry
		want  string
	}{
		{entry(events.ToolBefore, `{"tool":"Bash","args":{"command":"ls"},"verdict":"deny"}`), `"class_uid":6003,"type_uid":600399,"severity_id":3`},
		{entry(events.ToolBefore, `{"tool":"Bash","args":{"command":"ls"}}`), `"request":{"uid":"c1","data":{"command":"ls"}}`},
		{entry(events.ToolBefore, `{"tool":"Bash","verdict":"deny"}`), `"action_id":2,"disposition_id":2`},
		{entry(events.ToolResult, `{"tool":"Bash","status":"error","exit_code":0}`), `"response":{"code":0}`},
		{entry(events.RunStarted, `{}`), `"activity_id":3,"category_uid":6,"class_uid":6002`},
		{entry(events.RunFinished, `{"success":false}`), `"status_id":2`},
		{entry(events.HookExecuted, `{"hook":"h","success":false,"error":"timeout"}`), `"message":"timeout"`},
		{entry(events.HookExecuted, `{"hook":"h","success":true}`), `"class_uid":0`},
		{entry(events.AuditAccessed, `{"action":"erase","by":"CFO","user":"jdoe@host"}`), `"activity_id":7,"category_uid":6,"class_uid":6005`},
		{entry(events.AuditAccessed, `{"action":"erase","by":"CFO","user":"jdoe@host"}`), `"user":{"name":"jdoe@host"}`},
		{entry(events.GapRecorded, `{"first":1,"last":2,"reason":"shed"}`), `"class_uid":2004`},
	} {
		if line, err := Row("acme", tt.entry); err != nil || !bytes.Contains(line, []byte(tt.want)) {
			t.Errorf("got %s, %v, want %s", line, err, tt.want)
		}
	}
	for _, secret := range []string{
		`{"prompt":"S3CRET"}`, `{"content":"S3CRET"}`, `{"text":"S3CRET"}`, `{"result":"S3CRET","status":"success"}`,
	} {
		for _, kind := range events.Kinds() {
			if line, err := Row("acme", entry(kind, secret)); err != nil || bytes.Contains(line, []byte("S3CRET")) {
				t.Errorf("%s shows the content: %s, %v", kind, line, err)
			}
		}
	}
}

// FuzzRow checks that every record gives one valid line without control characters.
func FuzzRow(f *testing.F) {
	f.Add("tool.before", "r1", []byte(`{"tool":"a\u001b[2J\u202e","args":[1,2],"verdict":"deny"}`), []byte("x"))
	f.Add("audit.accessed", "", []byte(`{"action":7}`), []byte{0xff})
	f.Fuzz(func(t *testing.T, kind, run string, payload, raw []byte) {
		e := ledger.Entry{Class: ledger.ClassEvent, ID: "i", Run: run, Kind: events.Kind(kind), Bytes: raw}
		if json.Valid(payload) {
			event := events.Event{ID: "i", Source: "/t", Type: e.Kind.Type(), Time: time.Unix(1, 0), Tenant: "t", Data: payload}
			e.Bytes = event.Append(nil)
		}
		line, err := Row("t", e)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.ContainsAny(line, "\n\x1b\u202e\x00") {
			t.Errorf("control characters in %q", line)
		}
		check(t, line)
	})
}
