package otlp_test

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/hooktrail/hooktrail/internal/capture/ingest/ingesttest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/otlp"
	"github.com/hooktrail/hooktrail/pkg/events"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func read(tb testing.TB, s otlp.Signal, media string, body []byte) (list []events.Event, rejected []string) {
	tb.Helper()
	for e, err := range otlp.Events(s, media, body, otlp.Options{Tenant: "acme", Now: now}) {
		if err != nil {
			rejected = append(rejected, err.Error())
			continue
		}
		if err := e.Validate(); err != nil || e.Tenant != "acme" {
			tb.Fatalf("yielded %s: %v", e.Encode(), err)
		}
		list = append(list, e)
	}
	return list, rejected
}

type counts struct{ Runs, Finished, Steps, Calls, Results, Errors, Custom int }

func count(list []events.Event) (c counts) {
	runs := map[string]bool{}
	for _, e := range list {
		runs[e.Run] = true
		switch e.Kind() {
		case events.RunFinished:
			c.Finished++
		case events.StepFinished:
			c.Steps++
		case events.ToolBefore:
			c.Calls++
		case events.ToolResult:
			c.Results++
			if p, err := events.Payload[events.ToolResultData](e); err == nil && p.Status == events.ToolError {
				c.Errors++
			}
		case events.Custom:
			c.Custom++
		}
	}
	c.Runs = len(runs)
	return c
}

// The documents of data/otel map to runs, steps and tool calls.
func TestEvents_Documents(t *testing.T) {
	step := counts{Runs: 1, Finished: 1, Steps: 1}
	call := counts{Runs: 1, Finished: 1, Calls: 1, Results: 1}
	run := counts{Runs: 1, Finished: 1}
	want := map[string]counts{
		"00-resourceSpan": step, "02-resourceSpan": step, "04-toolSpanWithBothNames": call, "05-pydanticAiRootSpan": run,
		"07-resourceSpan": call, "09-resourceSpan": run, "10-resourceSpan": step, "12-multiFrameworkSpan": step,
		"14-otelSpans": run, "15-otelSpans": run, "17-adkReasoningSpan": run, "19-litellmAnthropicSpan": run,
		"20-bothSpellingsSpan": run, "22-vercelAIAnthropicSpan": run, "24-vercelAIAnthropicSpanLegacy": run,
		"25-vercelAIBedrockSpan": step, "27-traceLoopSpan": {Runs: 1, Steps: 1},
	}
	names := ingesttest.Recorded(t, "otel/langfuse-otlp-genai/*.json")
	if len(names) != len(want) {
		t.Fatalf("got %d documents, want %d", len(names), len(want))
	}
	for _, name := range names {
		key := strings.TrimSuffix(filepath.Base(name), ".json")
		t.Run(key, func(t *testing.T) {
			body := ingesttest.Data(t, name)
			list, rejected := read(t, otlp.Traces, otlp.JSON, body)
			if diff := cmp.Diff(want[key], count(list)); diff != "" || len(rejected) > 0 {
				t.Errorf("rejected %v, counts (-want +got):\n%s", rejected, diff)
			}
			checkLossless(t, body, list)
		})
	}
}

func checkLossless(t *testing.T, body []byte, list []events.Event) {
	t.Helper()
	kept := map[string]int{}
	for _, e := range list {
		var p struct {
			Raw *struct {
				Span any `json:"span"`
			} `json:"raw"`
		}
		if err := json.Unmarshal(e.Data, &p); err != nil {
			t.Fatal(err)
		}
		if p.Raw != nil {
			kept[canonical(t, p.Raw.Span)]++
		}
	}
	var d struct {
		ResourceSpans []struct {
			ScopeSpans []struct {
				Spans []any `json:"spans"`
			} `json:"scopeSpans"`
		} `json:"resourceSpans"`
	}
	if err := json.Unmarshal(body, &d); err != nil {
		t.Fatal(err)
	}
	for _, resource := range d.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			for _, span := range scope.Spans {
				if n := kept[canonical(t, span)]; n != 1 {
					t.Errorf("a span is %d times in raw, want 1: %v", n, span)
				}
			}
		}
	}
}

func canonical(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Traces of frameworks that Langfuse recorded become runs with steps and tool calls.
func TestEvents_Frameworks(t *testing.T) {
	want := map[string]counts{
		"agno-2025-06-11":                     {Runs: 1, Finished: 1, Steps: 4, Calls: 1, Results: 1},
		"beeai-2025-08-01":                    {Runs: 18, Finished: 18, Steps: 5, Calls: 3, Results: 3, Custom: 3},
		"crewai-2025-07-11":                   {Runs: 2, Finished: 1, Steps: 1, Custom: 4},
		"csharp-agent-with-gemini-2026-03-09": {Runs: 1, Steps: 3, Calls: 2, Results: 2, Custom: 3},
		"google-gemini-2025-08-01":            {Runs: 1, Finished: 1, Steps: 1},
		"langgraph-js-2025-10-30":             {Runs: 1, Steps: 2, Custom: 18},
		"langgraph-python-2025-08-22":         {Runs: 1, Steps: 2, Custom: 7},
		"microsoft-agent-2025-12-17":          {Runs: 1, Finished: 1, Steps: 2, Calls: 1, Results: 1},
		"pydantic-ai-2025-06-06":              {Runs: 2, Finished: 1, Steps: 1, Custom: 1},
		"pydantic-ai-tools-2025-06-06":        {Runs: 2, Finished: 1, Steps: 1, Custom: 1},
		"pydantic-ai-with-gemini-2025-12-24":  {Runs: 1, Finished: 1, Steps: 1},
		"vertex-ai-2025-08-01":                {Runs: 1, Finished: 1, Steps: 1},
	}
	names := ingesttest.Recorded(t, "otel/langfuse-framework-traces/*.trace.json")
	if len(names) != len(want) {
		t.Fatalf("got %d traces, want %d", len(names), len(want))
	}
	for _, name := range names {
		key := strings.TrimSuffix(filepath.Base(name), ".trace.json")
		t.Run(key, func(t *testing.T) {
			body := restore(t, name)
			list, rejected := read(t, otlp.Traces, otlp.JSON, body)
			if diff := cmp.Diff(want[key], count(list)); diff != "" || len(rejected) > 0 {
				t.Errorf("rejected %v, counts (-want +got):\n%s", rejected, diff)
			}
			checkLossless(t, body, list)
		})
	}
}

func restore(t *testing.T, name string) []byte {
	t.Helper()
	var trace struct {
		Observations []struct {
			ID, TraceID, Parent, Name, Type, Level, Message string
			Start                                           time.Time `json:"startTime"`
			End                                             time.Time `json:"endTime"`
			ParentObservationID                             string
			StatusMessage                                   string
			Metadata                                        any
		}
	}
	if err := json.Unmarshal(ingesttest.Data(t, name), &trace); err != nil {
		t.Fatal(err)
	}
	doc := ptrace.NewTraces()
	spans := doc.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	for _, o := range trace.Observations {
		var meta struct{ Attributes map[string]any }
		if s, ok := o.Metadata.(string); ok && json.Unmarshal([]byte(s), &meta) != nil {
			t.Fatalf("%s: metadata is not JSON", o.Name)
		}
		s := spans.AppendEmpty()
		s.SetName(o.Name)
		s.SetTraceID(traceID(o.TraceID))
		s.SetSpanID(spanID(o.ID))
		s.SetParentSpanID(spanID(o.ParentObservationID))
		s.SetStartTimestamp(stamp(o.Start))
		s.SetEndTimestamp(stamp(o.End))
		if err := s.Attributes().FromRaw(meta.Attributes); err != nil {
			t.Fatal(err)
		}
		s.Attributes().PutStr("langfuse.observation.type", strings.ToLower(o.Type))
		if o.Level == "ERROR" {
			s.Status().SetCode(ptrace.StatusCodeError)
			s.Status().SetMessage(o.StatusMessage)
		}
	}
	body, err := (&ptrace.JSONMarshaler{}).MarshalTraces(doc)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// An invalid document fails the whole request, and an invalid span only itself.
func TestEvents_Junk(t *testing.T) {
	for name, tt := range map[string]struct{ media, body string }{
		"NotJSON": {otlp.JSON, "{"}, "Type": {otlp.JSON, `{"resourceSpans":1}`}, "NotProtobuf": {otlp.Protobuf, "\x0a\xff"},
	} {
		var got error
		for _, err := range otlp.Events(otlp.Traces, tt.media, []byte(tt.body), otlp.Options{}) {
			got = err
		}
		if !errors.Is(got, otlp.ErrDocument) {
			t.Errorf("%s: got %v, want ErrDocument", name, got)
		}
	}
	const trace = `"traceId":"ea673708441c2984a54a3e3962d3595f"`
	list, rejected := read(t, otlp.Traces, otlp.JSON, []byte(`{"resourceSpans":[{},{"scopeSpans":[{},{"spans":[1,{},{`+trace+`},{`+trace+`,"spanId":"0000000000000000"},{`+trace+`,"spanId":"b904bffb20be6d7e"}]}]}]}`))
	want := []string{"0: not a span", "1: no trace id of 16 bytes", "2: no span id of 8 bytes", "3: no span id of 8 bytes"}
	if diff := cmp.Diff(want, rejected); diff != "" || len(list) != 1 || list[0].Kind() != events.Custom || !list[0].Time.Equal(now) {
		t.Errorf("got %v, rejected (-want +got):\n%s", list, diff)
	}
}

func TestEvents_Protobuf(t *testing.T) {
	body := ingesttest.Data(t, ingesttest.Recorded(t, "otel/langfuse-otlp-genai/00-resourceSpan.json")[0])
	doc, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(body)
	if err != nil {
		t.Fatal(err)
	}
	wire, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(doc)
	if err != nil {
		t.Fatal(err)
	}
	asJSON, _ := read(t, otlp.Traces, otlp.JSON, body)
	asProtobuf, rejected := read(t, otlp.Traces, otlp.Protobuf, wire)
	if len(rejected) > 0 || len(asProtobuf) != len(asJSON) {
		t.Fatalf("got %d events and %v, want %d", len(asProtobuf), rejected, len(asJSON))
	}
	for i, e := range asProtobuf {
		w := asJSON[i]
		e.ID, e.Data, w.ID, w.Data = "", nil, "", nil
		if diff := cmp.Diff(string(w.Encode()), string(e.Encode())); diff != "" {
			t.Errorf("event %d (-json +protobuf):\n%s", i, diff)
		}
	}
	logs := plog.NewLogs()
	record := logs.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
	record.Body().SetStr("claude_code.user_prompt")
	record.Attributes().PutStr("session.id", "s1")
	record.Attributes().PutStr("prompt", "go on")
	if wire, err = (&plog.ProtoMarshaler{}).MarshalLogs(logs); err != nil {
		t.Fatal(err)
	}
	if got, _ := read(t, otlp.Logs, otlp.Protobuf, wire); len(got) != 1 || got[0].Kind() != events.PromptSubmit || got[0].Run != "s1" {
		t.Errorf("got %v, want the prompt of s1", got)
	}
}
