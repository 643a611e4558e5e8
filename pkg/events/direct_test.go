package events

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func encoded(t *rapid.T, payload any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(payload); err != nil {
		return nil
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

var (
	anyText = rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "<&>", "\"\\\n\x00", "é日", "\xff", "\u2028"}))
	anyRaw  = rapid.SampledFrom([]json.RawMessage{
		nil, json.RawMessage(`{}`), json.RawMessage(`{"a":["<b>",1.50,null]}`), json.RawMessage(`{ "a" : 1 }`),
		json.RawMessage("\"\xff\""), json.RawMessage(`"\ud800"`), json.RawMessage(`{"a":1},"b":{}`), json.RawMessage(`{`), json.RawMessage(`1 `),
		json.RawMessage(strings.Repeat("[", 600) + strings.Repeat("]", 600)),
	})
	anyVerdict = rapid.SampledFrom([]Verdict{"", VerdictDeny, VerdictAsk, VerdictAllow, VerdictNone, "maybe"})
	anyOutcome = rapid.Custom(func(t *rapid.T) Outcome {
		return Outcome{Verdict: anyVerdict.Draw(t, "verdict"), Reason: anyText.Draw(t, "reason"), Context: anyText.Draw(t, "context"), Executions: rapid.SliceOfN(anyExecution, 0, 3).Draw(t, "executions")}
	})
	anyExecution = rapid.Custom(func(t *rapid.T) Execution {
		return Execution{
			Hook: anyText.Draw(t, "hook"), Name: anyText.Draw(t, "name"), Point: Kind(anyText.Draw(t, "point")), Success: rapid.Bool().Draw(t, "success"),
			Error: anyText.Draw(t, "error"), Verdict: anyVerdict.Draw(t, "verdict"), Modified: rapid.Bool().Draw(t, "modified"), TimedOut: rapid.Bool().Draw(t, "timed out"),
			DurationMS: rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, 0.25, 5000, 1e-7, 1e-6, 1e21})).Draw(t, "duration"),
		}
	})
)

func TestSetData_DirectIsWhatTheEncoderWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var payload any = ToolBeforeData{Tool: anyText.Draw(t, "tool"), Args: anyRaw.Draw(t, "args"), PatchedArgs: anyRaw.Draw(t, "patched"), Outcome: anyOutcome.Draw(t, "outcome")}
		if rapid.Bool().Draw(t, "result") {
			payload = ToolResultData{
				Tool: anyText.Draw(t, "tool"), Args: anyRaw.Draw(t, "args"), Status: ToolStatus(anyText.Draw(t, "status")), DeniedBy: DeniedBy(anyText.Draw(t, "denied by")), Result: anyRaw.Draw(t, "result"),
				Error: rapid.SampledFrom([]*Failure{nil, {Message: "m"}}).Draw(t, "error"), ExitCode: rapid.SampledFrom([]*int{nil, new(3)}).Draw(t, "exit"),
				DurationMS: rapid.Int64().Draw(t, "duration"), Suppress: rapid.Bool().Draw(t, "suppress"), Outcome: anyOutcome.Draw(t, "outcome"),
				Common: rapid.SampledFrom([]Common{{}, {Raw: json.RawMessage(`{}`)}}).Draw(t, "common"),
			}
		}
		var e Event
		err := e.SetData(payload)
		want := encoded(t, payload)
		if (err != nil) != (want == nil) {
			t.Fatalf("got %v, the encoder %s", err, want)
		}
		if want == nil {
			return
		}
		// encoding/json escapes line separators, which JSON allows unescaped.
		want = wellFormed(bytes.ReplaceAll(want, []byte(`\u2028`), []byte("\u2028")))
		got := bytes.ReplaceAll(e.Data, []byte(`\u2028`), []byte("\u2028"))
		if !bytes.Equal(want, got) {
			var a, b any
			if json.Unmarshal(want, &a) != nil || json.Unmarshal(got, &b) != nil || !cmp.Equal(a, b) {
				t.Errorf("got %s, want %s", got, want)
			}
		}
	})
}

func TestIsData(t *testing.T) {
	for text, want := range map[string]bool{
		`{}`: true, ` [1, 2] `: true, `"é"`: true, `null`: true, ``: false, `{`: false, `{}{}`: false, `{"a":1},"b":{}`: false, "\"\xff\"": false, `"\ud800"`: false,
		strings.Repeat("[", 510) + strings.Repeat("]", 510): true, strings.Repeat("[", 511) + strings.Repeat("]", 511): false,
	} {
		if got := IsData([]byte(text)); got != want {
			t.Errorf("%.40q: %t", text, got)
		}
	}
}
