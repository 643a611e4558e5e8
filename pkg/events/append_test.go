package events

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func kilobyte() Event {
	e := full()
	e.Extra = nil
	args := strings.Repeat(`grep -n \"needle\" haystack.go; `, 8)
	e.Data = json.RawMessage(`{"tool":"Bash","args":{"command":"` + args + `"},"verdict":"allow"}`)
	return e
}

func TestEvent_AppendDoesNotAllocate(t *testing.T) {
	e := kilobyte()
	if n := len(e.Encode()); n < 900 || n > 1200 {
		t.Fatalf("the event has %d bytes, not about 1 KB", n)
	}
	buf := make([]byte, 0, 4096)
	if n := testing.AllocsPerRun(100, func() { buf = e.Append(buf[:0]) }); n != 0 {
		t.Errorf("Append allocates %v times", n)
	}
}

func TestEvent_ValidateDoesNotAllocate(t *testing.T) {
	e := kilobyte()
	e.Data = json.RawMessage(`{"tool":"Bash","args":{"a":[1,2,{"b":"c"}]},"verdict":"allow","executions":[{"hook":"h","success":true,"duration_ms":0.25}],"raw":{}}`)
	step := full()
	step.Type = StepFinished.Type()
	step.Data = json.RawMessage(`{"step_status":"completed","tokens_used":{"input":1,"output":2},"metadata":{"a":[1,{"b":2}]}}`)
	for _, e := range []Event{e, step} {
		if n := testing.AllocsPerRun(100, func() {
			if err := e.Validate(); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("Validate of %s allocates %v times", e.Type, n)
		}
	}
}

// plainEvent is the event as encoding/json would encode it, the baseline of BenchmarkAppend.
type plainEvent struct {
	SpecVersion     string          `json:"specversion"`
	ID              string          `json:"id"`
	Source          string          `json:"source"`
	Type            string          `json:"type"`
	Subject         string          `json:"subject,omitempty"`
	Time            time.Time       `json:"time"`
	DataContentType string          `json:"datacontenttype,omitempty"`
	Tenant          string          `json:"tenant,omitempty"`
	Producer        string          `json:"producer,omitempty"`
	Sequence        uint64          `json:"sequence,string,omitempty"`
	Run             string          `json:"runid,omitempty"`
	Step            string          `json:"stepid,omitempty"`
	Session         string          `json:"sessionid,omitempty"`
	Agent           string          `json:"agent,omitempty"`
	AgentRole       string          `json:"agentrole,omitempty"`
	RunType         string          `json:"runtype,omitempty"`
	ParentAgent     string          `json:"parentagent,omitempty"`
	ParentRun       string          `json:"parentrun,omitempty"`
	ToolCall        string          `json:"toolcall,omitempty"`
	User            string          `json:"userid,omitempty"`
	AgentFS         string          `json:"agentfs,omitempty"`
	Hooks           string          `json:"hooks,omitempty"`
	TraceParent     string          `json:"traceparent,omitempty"`
	Salt            string          `json:"salt,omitempty"`
	Data            json.RawMessage `json:"data,omitempty"`
}

func plainOf(e Event) plainEvent {
	return plainEvent{
		"1.0", e.ID, e.Source, e.Type, e.Subject, e.Time, e.DataContentType, e.Tenant, e.Producer, e.Sequence,
		e.Run, e.Step, e.Session, e.Agent, e.AgentRole, e.RunType, e.ParentAgent, e.ParentRun, e.ToolCall, e.User,
		e.AgentFS, e.Hooks, e.TraceParent, e.Salt, e.Data,
	}
}

func TestPlainEventIsEquivalent(t *testing.T) {
	e := kilobyte()
	e.Time = at.Truncate(time.Second).Add(123456789)
	b, err := json.Marshal(plainOf(e))
	if err != nil {
		t.Fatal(err)
	}
	if string(b) != string(e.Encode()) {
		t.Errorf("got\n%s, want\n%s", b, e.Encode())
	}
}

// BenchmarkAppend reports the median ratio to encoding/json. It must not exceed 0.45.
func BenchmarkAppend(b *testing.B) {
	e := kilobyte()
	plain := plainOf(e)
	buf := make([]byte, 0, 4096)
	size := len(e.Encode())
	compare(b,
		func() {
			out, err := json.Marshal(&plain)
			if err != nil || len(out) != size {
				b.Fatalf("%d bytes, want %d: %v", len(out), size, err)
			}
		},
		func() {
			if buf = e.Append(buf[:0]); len(buf) != size {
				b.Fatalf("%d bytes, want %d", len(buf), size)
			}
		})
}

func BenchmarkDecode(b *testing.B) {
	data := kilobyte().Encode()
	compare(b,
		func() {
			var p plainEvent
			if err := json.Unmarshal(data, &p); err != nil {
				b.Fatal(err)
			}
		},
		func() {
			e, err := Decode(data)
			if err == nil {
				err = e.Validate()
			}
			if err != nil {
				b.Fatal(err)
			}
		})
}

// compare measures got and limit in rounds, and reports both medians and the ratios.
func compare(b *testing.B, limit, got func()) {
	b.Helper()
	const rounds, calls = 11, 2000
	measure := func(f func()) float64 {
		start := time.Now()
		for range calls {
			f()
		}
		return float64(time.Since(start).Nanoseconds()) / calls
	}
	measure(limit)
	measure(got)
	var limits, gots, ratios []float64
	for b.Loop() {
		limits, gots, ratios = nil, nil, nil
		for range rounds {
			l, g := measure(limit), measure(got)
			limits, gots, ratios = append(limits, l), append(gots, g), append(ratios, g/l)
		}
	}
	slices.Sort(limits)
	slices.Sort(gots)
	slices.Sort(ratios)
	b.ReportMetric(limits[rounds/2], "limit-ns")
	b.ReportMetric(gots[rounds/2], "got-ns")
	b.ReportMetric(ratios[rounds/2], "ratio")
	b.ReportMetric(ratios[0], "ratio-min")
	b.ReportMetric(ratios[rounds-1], "ratio-max")
	b.ReportMetric(0, "ns/op")
}

func ExampleEvent_Append() {
	e := Event{
		ID: "e-1", Source: "/engine", Type: ToolBefore.Type(), Run: "run-7",
		Time: time.Date(2026, 11, 20, 10, 14, 7, 0, time.FixedZone("CET", 3600)),
	}
	if err := e.SetData(ToolBeforeData{Tool: "Bash"}); err != nil {
		fmt.Println(err)
	}
	fmt.Printf("%s\n", e.Append(nil))
	// Output:
	// {"specversion":"1.0","id":"e-1","source":"/engine","type":"hooktrail.tool.before","time":"2026-11-20T09:14:07.000000000Z","runid":"run-7","data":{"tool":"Bash"}}
}
