package events

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestEvent_Validate(t *testing.T) {
	set := func(f func(e *Event)) Event {
		e := full()
		f(&e)
		return e
	}
	for _, tc := range []struct {
		name              string
		e                 Event
		attribute, reason string
	}{
		{"Full", full(), "", ""},
		{"Minimal", Event{ID: "1", Source: "/s", Type: "com.example"}, "", ""},
		{"UnknownKind", Event{ID: "1", Source: "/s", Type: "hooktrail.tomorrow", Time: at, Data: json.RawMessage(`[1]`)}, "", ""},
		{"ForeignData", Event{ID: "1", Source: "/s", Type: "com.example", Data: json.RawMessage(`"text"`)}, "", ""},
		{"Binary", Event{ID: "1", Source: "/s", Type: "com.example", Binary: []byte{}}, "", ""},
		{"WideText", set(func(e *Event) { e.Run = "ünï 世界 🌎 .*>" }), "", ""},
		{"NoID", set(func(e *Event) { e.ID = "" }), "id", "missing"},
		{"NoSource", set(func(e *Event) { e.Source = "" }), "source", "missing"},
		{"NoType", set(func(e *Event) { e.Type = "" }), "type", "missing"},
		{"NoKind", set(func(e *Event) { e.Type = "hooktrail." }), "type", "names no kind"},
		{"NoTime", set(func(e *Event) { e.Time = time.Time{} }), "time", "missing"},
		{"TimeTooLate", set(func(e *Event) { e.Time = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) }), "time", "outside the years"},
		{"NoRun", Event{ID: "1", Source: "/s", Type: RunStarted.Type(), Time: at, Data: json.RawMessage(`{}`)}, "runid", "missing"},
		{"NoProducer", set(func(e *Event) { e.Producer = "" }), "producer", "missing"},
		{"InvalidUTF8", set(func(e *Event) { e.Agent = "co\xffder" }), "agent", "not valid UTF-8 at byte 2"},
		{"Surrogate", set(func(e *Event) { e.Agent = "\xed\xa0\x80" }), "agent", "not valid UTF-8 at byte 0"},
		{"ControlCharacter", set(func(e *Event) { e.User = "a\nb" }), "userid", "control character at byte 1"},
		{"LateControlCharacter", set(func(e *Event) { e.User = "a\u0085" }), "userid", "control character at byte 1"},
		{"ExtraName", set(func(e *Event) { e.Extra[0].Name = "part_key" }), `"part_key"`, "lower-case"},
		{"ExtraEmptyName", set(func(e *Event) { e.Extra[0].Name = "" }), `""`, "lower-case"},
		{"ExtraKnown", set(func(e *Event) { e.Extra[0].Name = "runid" }), "runid", "has a field of its own"},
		{"ExtraTwice", set(func(e *Event) { e.Extra[1].Name = e.Extra[0].Name }), "partitionkey", "occurs twice"},
		{"ExtraNotJSON", set(func(e *Event) { e.Extra[0].Value = json.RawMessage(`x`) }), "partitionkey", "want a value"},
		{"ExtraNull", set(func(e *Event) { e.Extra[0].Value = json.RawMessage(`null`) }), "partitionkey", "neither a string"},
		{"ExtraTwoValues", set(func(e *Event) { e.Extra[0].Value = json.RawMessage(`1,"id":2`) }), "partitionkey", "neither a string"},
		{"ExtraSpace", set(func(e *Event) { e.Extra[0].Value = json.RawMessage("1\n") }), "partitionkey", "neither a string"},
		{"TooLong", set(func(e *Event) { e.Session = strings.Repeat("x", MaxAttributeBytes) }), "", "attributes larger than 16384 bytes"},
		{"TooManyExtra", set(func(e *Event) { e.Extra = many(maxExtra + 1) }), "", "more than 128 unknown attributes"},
		{"DataAndBinary", set(func(e *Event) { e.Binary = []byte{1} }), "data_base64", "excluded by data"},
		{"BinaryPayload", set(func(e *Event) { e.Data, e.Binary = nil, []byte{1} }), "data_base64", "is JSON"},
		{"NoData", set(func(e *Event) { e.Data = nil }), "data", "missing"},
		{"DataNotJSON", set(func(e *Event) { e.Data = json.RawMessage(`{"tool"}`) }), "data", "want ':'"},
		{"DataTwice", set(func(e *Event) { e.Data = json.RawMessage(`{"tool":"a"}{}`) }), "data", "want the end"},
		{"DataWithSpace", set(func(e *Event) { e.Data = json.RawMessage(`{"tool": "a"}`) }), "data", "white space"},
		{"DataSurrogate", set(func(e *Event) { e.Data = json.RawMessage(`{"tool":"\ud800"}`) }), "data.tool", "lone surrogate"},
		{"DataNull", set(func(e *Event) { e.Data = json.RawMessage(`null`) }), "data", "not an object"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := tc.e.Validate()
			if tc.reason == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			offset := -1
			if invalid, ok := err.(*InvalidError); ok { //nolint:errorlint // the offset is tested with the scanner
				offset = invalid.Offset
			}
			wantInvalid(t, err, tc.attribute, tc.reason, offset)
		})
	}
}

func many(n int) []Attribute {
	extra := make([]Attribute, n)
	for i := range extra {
		extra[i] = Attribute{Name: fmt.Sprintf("x%d", i), Value: json.RawMessage(`1`)}
	}
	return extra
}

var zeros = Hash{}.String()

func TestEvent_ValidatePayload(t *testing.T) {
	for _, tc := range []struct {
		name              string
		kind              Kind
		data              string
		attribute, reason string
	}{
		{"Step", StepFinished, `{"step_status":"completed","run_type":"free text","unknown":{"x":[1e999]}}`, "", ""},
		{"StepWithoutStatus", StepFinished, `{"run_type":"PLAN"}`, "data.step_status", "missing"},
		{"StepNullStatus", StepFinished, `{"step_status":null}`, "data.step_status", "missing"},
		{"StepStatusOfAnotherCase", StepFinished, `{"Step_Status":"completed"}`, "data.step_status", "missing"},
		{"StepStatusUnknown", StepFinished, `{"step_status":"done"}`, "data.step_status", `not one of "pending", "running", "completed", "failed", "skipped"`},
		{"StepStatusEscaped", StepFinished, `{"step_status":"\u0066ailed"}`, "", ""},
		{"StepStatusNumber", StepFinished, `{"step_status":1}`, "data.step_status", "not a string"},
		{"CaseIsFolded", StepFinished, `{"step_status":"failed","DURATION_MS":"x"}`, "data.duration_ms", "not a whole number"},
		{"DurationFraction", StepFinished, `{"step_status":"failed","duration_ms":1.5}`, "data.duration_ms", "not a whole number"},
		{"DurationExponent", StepFinished, `{"step_status":"failed","duration_ms":1e3}`, "data.duration_ms", "not a whole number"},
		{"DurationTooLarge", StepFinished, `{"step_status":"failed","duration_ms":9223372036854775808}`, "data.duration_ms", "not a whole number"},
		{"DurationLowest", StepFinished, `{"step_status":"failed","duration_ms":-9223372036854775808}`, "", ""},
		{"Tokens", StepFinished, `{"step_status":"failed","tokens_used":{"input":1},"error":{"class":"timeout"}}`, "", ""},
		{"TokensList", StepFinished, `{"step_status":"failed","tokens_used":[]}`, "data.tokens_used", "not an object"},
		{"Failure", StepFinished, `{"step_status":"failed","error":{"message":1}}`, "data.error.message", "not a string"},
		{"Metadata", StepFinished, `{"step_status":"failed","metadata":{"a":{"b":[1,true,null,"x",2.5e3]}}}`, "", ""},
		{"MetadataTooLarge", StepFinished, `{"step_status":"failed","metadata":{"a":[1e400]}}`, "data.metadata.0", "not a number of 64 bits"},
		{"MetadataString", StepFinished, `{"step_status":"failed","metadata":"x"}`, "data.metadata", "not an object"},
		{"NotAnObject", StepFinished, `"completed"`, "data", "not an object"},
		{"Result", ToolResult, `{"status":"success","exit_code":-1,"result":[1e999]}`, "", ""},
		{"ResultStatus", ToolResult, `{"status":"ok"}`, "data.status", `not one of "success", "error"`},
		{"ResultWithoutStatus", ToolResult, `{}`, "data.status", "missing"},
		{"Verdict", ToolBefore, `{"tool":"Bash","verdict":"maybe"}`, "data.verdict", "not one of"},
		{"Executions", ToolBefore, `{"tool":"Bash","executions":[{"hook":"h","success":true,"duration_ms":0.5},{"hook":"h","success":1}]}`, "data.executions.1.success", "not a boolean"},
		{"ExecutionsObject", ToolBefore, `{"tool":"Bash","executions":{}}`, "data.executions", "not an array"},
		{"BlobForRequired", PromptSubmit, `{"blobs":{"prompt":{"sha256":"00","bytes":1}}}`, "", ""},
		{"BlobForOther", PromptSubmit, `{"blobs":{"raw":{"sha256":"00","bytes":1}}}`, "data.prompt", "missing"},
		{"BlobForAll", MemoryUpdated, `{"blobs":{"":{"sha256":"00","bytes":1}}}`, "", ""},
		{"BlobIncomplete", PromptSubmit, `{"blobs":{"prompt":{"sha256":"00"}}}`, "data.blobs.bytes", "missing"},
		{"BlobForSeal", RunSealed, `{"blobs":{"":{"sha256":"00","bytes":1}}}`, "data.digest", "not 64 lower-case hex digits"},
		{"Sealed", RunSealed, `{"count":2,"first":1,"last":2,"digest":"` + zeros + `"}`, "", ""},
		{"SealedNegative", RunSealed, `{"count":-1,"first":1,"last":1,"digest":""}`, "data.count", "whole number from 0"},
		{"SealedTooLarge", RunSealed, `{"count":18446744073709551616,"first":1,"last":1,"digest":""}`, "data.count", "whole number from 0"},
		{"SealedNothing", RunSealed, `{"count":0,"first":1,"last":1,"digest":"` + zeros + `"}`, "data.count", "not between"},
		{"SealedTooMany", RunSealed, `{"count":3,"first":1,"last":2,"digest":"` + zeros + `"}`, "data.count", "not between"},
		{"SealedFromZero", RunSealed, `{"count":1,"first":0,"last":2,"digest":"` + zeros + `"}`, "data.first", "start at 1"},
		{"SealedDigest", RunSealed, `{"count":1,"first":1,"last":1,"digest":"x"}`, "data.digest", "hex"},
		{"Gap", GapRecorded, `{"first":1,"last":1,"reason":"shed"}`, "", ""},
		{"GapWithoutReason", GapRecorded, `{"first":1,"last":1,"reason":""}`, "data.reason", "empty"},
		{"GapBackwards", GapRecorded, `{"first":2,"last":1,"reason":"shed"}`, "data.last", "before first"},
		{"Chunk", BlobChunk, `{"sha256":"` + zeros + `","bytes":1,"index":0,"chunks":1,"content":"aGV\u0073bG8="}`, "", ""},
		{"ChunkNotBase64", BlobChunk, `{"sha256":"","bytes":1,"index":0,"chunks":1,"content":"?"}`, "data.content", "not base64"},
		{"ChunkSum", BlobChunk, `{"sha256":"","bytes":1,"index":0,"chunks":1,"content":""}`, "data.sha256", "hex"},
		{"ChunkIndex", BlobChunk, `{"sha256":"` + zeros + `","bytes":1,"index":1,"chunks":1,"content":""}`, "data.index", "not between"},
		{"Clock", ClockTicked, `{"at":"2026-11-20T09:14:07Z"}`, "", ""},
		{"ClockYear0", ClockTicked, `{"at":"0000-11-20T09:14:07Z"}`, "data.at", "not a time"},
		{"Counters", IssueDecided, `{"event":"","action":"","rule":"","reason":"","config":"","counters":{"a":[1,"x"]}}`, "data.counters.1", "not a whole number"},
		{"CustomNameless", Custom, `{}`, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := Event{ID: "1", Source: "/s", Type: tc.kind.Type(), Run: "r", Time: at, Data: json.RawMessage(tc.data)}
			err := e.Validate()
			if tc.reason != "" {
				offset := -1
				if invalid, ok := err.(*InvalidError); ok { //nolint:errorlint // the offset is tested with the scanner
					offset = invalid.Offset
				}
				wantInvalid(t, err, tc.attribute, tc.reason, offset)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			p, _ := PayloadOf(tc.kind)
			if err := json.Unmarshal(e.Data, p); err != nil {
				t.Errorf("valid, but cannot be decoded: %v", err)
			}
		})
	}
}

//guarantee:text-hostile
func TestEvent_ValidateNeverQuotesValues(t *testing.T) {
	const secret = "hunter2"
	for _, e := range []Event{
		{ID: "1", Source: "/s", Type: StepFinished.Type(), Run: "r", Time: at, Data: json.RawMessage(`{"step_status":"` + secret + `"}`)},
		{ID: "1", Source: "/s", Type: StepFinished.Type(), Run: "r", Time: at, Data: json.RawMessage(`{"metadata":{"` + secret + `":1e999}}`)},
		{ID: "1", Source: "/s\n" + secret, Type: "t"},
	} {
		if err := e.Validate(); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("got %v, want an error without the value", err)
		}
	}
}

func TestShapes(t *testing.T) {
	for _, k := range Kinds() {
		s := shapeOfKind(k)
		if s == nil || len(s.fields) > 64 {
			t.Fatalf("%s has no shape, or one that is too large", k)
		}
		seen := map[string]bool{}
		for _, f := range s.fields {
			if f.name == "" || seen[f.name] {
				t.Errorf("%s: field %q is nameless or there twice", k, f.name)
			}
			seen[f.name] = true
		}
		if !seen[blobsField] || !seen["raw"] {
			t.Errorf("%s does not embed Common", k)
		}
	}
	for kind, is := range forms {
		if is == formRaw {
			t.Errorf("%s has no form", kind)
		}
	}
	if got := shapeOf(reflect.TypeFor[json.RawMessage]()); got.is != formRaw {
		t.Errorf("raw JSON has form %d", got.is)
	}
}

func TestForm_Holds(t *testing.T) {
	for _, n := range []string{"0", "-0", "1", "-1", fmt.Sprint(math.MaxInt64), fmt.Sprint(uint64(math.MaxUint64)), "1.0", "1e2", "1e308", "1e309", "123456789012345678901"} {
		var (
			i int64
			u uint64
			f float64
		)
		for is, to := range map[form]any{formInteger: &i, formNatural: &u, formNumber: &f} {
			want := json.Unmarshal([]byte(n), to) == nil
			if got := is.holds([]byte(n)); got != want {
				t.Errorf("form %d of %s: got %t, want %t", is, n, got, want)
			}
		}
	}
}
