package ingest_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func collect(opts ingest.Options, emit func(*ingest.Emitter)) (list []events.Event, reports []string) {
	emit(ingest.NewEmitter("tool", opts, func(e events.Event, err error) bool {
		if err != nil {
			reports = append(reports, err.Error())
		} else {
			list = append(list, e)
		}
		return true
	}))
	return list, reports
}

func kinds(list []events.Event) (names []string) {
	for _, e := range list {
		names = append(names, strings.TrimSpace(string(e.Kind())+" "+e.Step+" "+e.ToolCall))
	}
	return names
}

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(id string, seconds int) ingest.Origin {
	return ingest.Origin{ID: id, Time: start.Add(time.Duration(seconds) * time.Second)}
}

// runTwice emits a run with a prompt, a call that is made and answered twice, and a
// repeated step id.
func runTwice(m *ingest.Emitter) {
	r := m.Run(ingest.Identity{Run: "r", Session: "r", Agent: "tool"}, at("0", 0), events.RunStartedData{})
	r.Prompt(at("p", 1), events.PromptSubmitData{Prompt: "go"})
	for i := range 2 {
		p := at("c", 2+i)
		p.Block = i
		r.Call(p, "t", events.ToolBeforeData{Tool: "Bash"})
		r.Result(p, "t", events.ToolResultData{Status: events.ToolError})
	}
	r.Spend(events.Tokens{Input: 3})
	r.Step().Answer("done")
	again := m.Run(ingest.Identity{Run: "r"}, at("0", 4), events.RunStartedData{})
	again.Open(at("p", 5), "")
	again.Touch(start.Add(9 * time.Second))
	m.Finish()
	m.Finish()
}

func TestRun(t *testing.T) {
	list, reports := collect(ingest.Options{Tenant: "t"}, runTwice)
	want := []string{"run.started", "prompt.submit p", "tool.before p t", "tool.result p t", "step.finished p", "step.finished p-2", "run.finished"}
	if diff := cmp.Diff(want, kinds(list)); diff != "" || len(reports) > 0 {
		t.Errorf("reports %q, (-want +got):\n%s", reports, diff)
	}
	got, err := events.Payload[events.RunFinishedData](list[len(list)-1])
	if err != nil {
		t.Fatal(err)
	}
	finished := events.RunFinishedData{RunStatus: events.RunUnknown, DurationMS: 9000, TokensUsed: &events.Tokens{Input: 3}, Steps: 2, ToolCalls: 1, ToolErrors: 1}
	if diff := cmp.Diff(finished, got); diff != "" {
		t.Errorf("run.finished (-want +got):\n%s", diff)
	}
}

// An open input does not finish a step or a run.
func TestRun_Open(t *testing.T) {
	list, _ := collect(ingest.Options{Tenant: "t", Open: true}, runTwice)
	want := []string{"run.started", "prompt.submit p", "tool.before p t", "tool.result p t", "step.finished p"}
	if diff := cmp.Diff(want, kinds(list)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Members that are nested too deep become text.
func TestEmitter_KeepsDeepValues(t *testing.T) {
	deep := strings.Repeat("[", 600) + `"]"` + strings.Repeat("]", 600)
	list, reports := collect(ingest.Options{File: "f", Tenant: "t"}, func(m *ingest.Emitter) {
		m.At(7)
		r := m.Run(ingest.Identity{Run: "r", Agent: "tool"}, at("0", 0), events.RunStartedData{})
		r.Call(at("1", 0), "c", events.ToolBeforeData{Tool: "x", Args: json.RawMessage(deep)})
	})
	if diff := cmp.Diff([]string{"f:7: nested more than 512 deep, kept as text"}, reports); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	data, err := events.Payload[events.ToolBeforeData](list[len(list)-1])
	if err != nil || data.Tool != "x" || ingest.Text(data.Args) != deep {
		t.Errorf("got %q, %v", data.Args, err)
	}
}

// An invalid event is reported. After the receiver has stopped, nothing is emitted.
func TestEmitter_Refuses(t *testing.T) {
	_, reports := collect(ingest.Options{File: "f", Tenant: "t"}, func(m *ingest.Emitter) {
		m.At(7)
		r := m.Run(ingest.Identity{Run: "r", Agent: "tool"}, at("0", 0), events.RunStartedData{})
		r.Emit(at("1", 0), events.Custom, "\x00", events.CustomData{Name: "bad"})
	})
	if diff := cmp.Diff([]string{"f:7: custom: toolcall: control character at byte 0 of the value"}, reports); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	calls := 0
	m := ingest.NewEmitter("tool", ingest.Options{Tenant: "t"}, func(events.Event, error) bool { calls++; return false })
	runTwice(m)
	m.Fault("late", false)
	if calls != 1 || !m.Stopped() {
		t.Errorf("got %d calls after the first was refused, want none", calls-1)
	}
}

// No id depends on a time that is not from the input.
func TestEmitter_Untimed(t *testing.T) {
	ids := func(year int) (ids []string) {
		list, _ := collect(ingest.Options{Tenant: "t", Now: func() time.Time { return time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC) }},
			func(m *ingest.Emitter) {
				p := ingest.Origin{ID: "0", Time: m.Now()}
				m.Run(ingest.Identity{Run: "r", Agent: "tool"}, p, events.RunStartedData{}).Open(p, "")
				m.Finish()
			})
		for _, e := range list {
			ids = append(ids, e.ID)
		}
		return ids
	}
	if diff := cmp.Diff(ids(2030), ids(2031)); diff != "" || len(ids(2030)) != 3 {
		t.Errorf("(-2030 +2031):\n%s", diff)
	}
}

// An event whose time is not from the input is marked, and one with a time is not.
func TestEmitter_MarksUntimed(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.FixedZone("", 3600))
	list, _ := collect(ingest.Options{Tenant: "t", Now: func() time.Time { return now }}, func(m *ingest.Emitter) {
		p := ingest.Origin{ID: "0", Time: m.Now().Add(time.Second)}
		r := m.Run(ingest.Identity{Run: "r", Agent: "tool"}, p, events.RunStartedData{})
		r.Emit(at("1", 3), events.Custom, "", events.CustomData{Name: "timed"})
	})
	for i, want := range []bool{true, false} {
		e := list[i]
		data, err := events.Payload[struct{ events.Common }](e)
		if err != nil || data.Untimed != want || e.Time.Location() != time.UTC {
			t.Errorf("%s: untimed %t at %v, %v", e.Type, data.Untimed, e.Time, err)
		}
	}
	if !list[0].Time.Equal(now.Add(time.Second)) {
		t.Errorf("got %v", list[0].Time)
	}
}

func TestEmitter_LineID(t *testing.T) {
	m := ingest.NewEmitter("tool", ingest.Options{}, nil)
	a, b, again := m.LineID([]byte("a")), m.LineID([]byte("b")), m.LineID([]byte("a"))
	if a == b || again != a+"-2" {
		t.Errorf("got %q, %q and %q", a, b, again)
	}
}

// In an open input, an incomplete last line is not a fault, and a complete line without
// a line feed is read.
func TestLines_Open(t *testing.T) {
	for in, want := range map[string]int{"{}\n{\"a\"": 1, "{}\n{}": 2, "{}\n{": 1, "": 0, "{\n{}": 2} {
		got := 0
		for _, err := range ingest.Lines(t.Context(), strings.NewReader(in), ingest.Options{Open: true}) {
			if err != nil {
				t.Error(err)
			}
			got++
		}
		if got != want {
			t.Errorf("%q: got %d lines, want %d", in, got, want)
		}
	}
}

func TestHeadObjects(t *testing.T) {
	var got []string
	for o := range ingest.HeadObjects([]byte("\uFEFF{\"a\":1}\n\n7\n[2]\nnoise\n{\"b\":{\"c\":3},\"d\":\"cut o")) {
		for name, value := range o {
			got = append(got, name+"="+string(value))
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"a=1", `b={"c":3}`, "d="}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWithout(t *testing.T) {
	tests := []struct{ object, mapped, want string }{
		{`{"b":1,"a":{"x":[1, 2]},"c":"<&>"}`, "b", `{"a":{"x":[1, 2]},"c":"<&>"}`},
		{`{"a":1}`, "a", ""},
		{`{}`, "a", ""},
		{`[1]`, "a", "[1]"},
		{`{"a":`, "b", `{"a":`},
	}
	for _, tt := range tests {
		if got := string(ingest.Without([]byte(tt.object), tt.mapped)); got != tt.want {
			t.Errorf("Without(%s, %s): got %s, want %s", tt.object, tt.mapped, got, tt.want)
		}
	}
}

// Mapped and remaining members together are the whole object.
func FuzzWithout(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":{"c":[1,2]}}`), "a")
	f.Add([]byte(`{"<":1,"\ud800":"x"}`), "<")
	f.Fuzz(func(t *testing.T, object []byte, mapped string) {
		rest := ingest.Without(object, mapped)
		var all, left map[string]json.RawMessage
		if json.Unmarshal(object, &all) != nil {
			return
		}
		if rest != nil && json.Unmarshal(rest, &left) != nil {
			t.Fatalf("remaining members are not an object: %s", rest)
		}
		delete(all, mapped)
		if len(all) != len(left) {
			t.Fatalf("got %d members, want %d", len(left), len(all))
		}
		for name, value := range all {
			if !bytes.Equal(value, left[name]) {
				t.Fatalf("member %q: got %s, want %s", name, left[name], value)
			}
		}
	})
}

func TestSessionOf(t *testing.T) {
	for file, want := range map[string]string{
		"/x/my session.jsonl": "my session", "s.jsonl.gz": "s", "": "transcript", strings.Repeat("x", 200): "transcript",
	} {
		if got := ingest.SessionOf(file); got != want {
			t.Errorf("SessionOf(%q): got %q, want %q", file, got, want)
		}
	}
}
