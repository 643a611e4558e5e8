package ledgertest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// A Form is a payload that two JSON libraries could read differently, such as {"Verdict":"deny"}.
// Tests check that Go and SQLite agree about it.
type Form struct {
	Kind events.Kind
	Data string
}

// Event returns an event with this payload. call is the id of its tool call.
func (f Form) Event(call string) events.Event {
	return events.Event{
		ID: events.DeriveID(string(f.Kind), f.Data, call), Source: "/forms", Type: f.Kind.Type(), Run: "r9", Subject: "r9", ToolCall: call,
		Data: []byte(f.Data),
	}
}

// Denials returns unusually written payloads that deny their tool call, such as
// {"VERDICT":"deny"}.
func Denials() []Form {
	return formsOf(events.ToolBefore,
		`{"tool":"Bash","verdict":"deny"}`, `{"tool":"Bash","Verdict":"deny"}`, `{"VERDICT":"deny","verdict":"allow"}`,
		`{"verdict":"deny","Verdict":null}`, `{"verdict":"deny","verdict":"none"}`, `{"verdict":"d\u0065ny"}`, `{"verdict":"Deny"}`,
		`{"verd\u0069ct":"deny"}`, `{"verdict":"deny","hookı":"deny"}`, `{"verdict":"deny","ſ":1}`, `{"verdict":"deny","executions":5}`,
		`{"verdict":"deny","executions":[{"duration_ms":"x"}]}`, `{"verdict":"deny","tool":[1e999]}`,
	)
}

// Successes returns unusually written payloads of successful tool calls, such as
// {"Status":"success"}.
func Successes() []Form {
	return formsOf(events.ToolResult,
		`{"tool":"Bash","status":"success"}`, `{"tool":"Bash","Status":"success"}`, `{"statuſ":"success"}`, `{"ſtatuſ":"success"}`,
		`{"status":"success","duration_ms":"x"}`, `{"status":"success","duration_ms":1e2}`, `{"status":"success","duration_ms":-1}`,
		`{"status":"success","status":"error"}`, `{"status":"s\u0075ccess"}`, `{"status":"SUCCESS"}`, `{"st\u0061tus":"success"}`, `{"status":"success","tool":{}}`,
		`{"status":"error","exit_code":9223372036854775808,"STATUS":"success"}`,
	)
}

// OtherForms returns unusually written payloads of other kinds, such as seals and gaps. Verdicts
// and tables depend on these payloads.
func OtherForms() []Form {
	seals := []string{
		`{"count":1,"first":1,"last":2,"digest":"00"}`, `{"Count":1,"First":1,"Last":2,"Digest":"00"}`, `{"count":1,"count":2,"last":2,"digest":""}`,
		`{"count":null,"first":null,"digest":null}`, `{"count":1,"first":true}`, `{"count":-0}`, `{"digest":5}`, `{"digest":"\u00e9"}`, `{}`,
	}
	gaps := []string{
		`{"first":1,"last":2,"reason":"x"}`, `{"First":1,"Last":2,"reason":"x"}`, `{"first":1e0,"last":2}`, `{"first":1,"last":9223372036854775807}`,
		`{"first":1,"last":9223372036854775808}`, `{"first":0,"last":18446744073709551616}`, `{"first":1,"last":2,"reason":{}}`, `{"first":2.0}`, `[]`,
	}
	losses := []string{
		`{"producer":"p"}`, `{"Producer":"p"}`, `{"producer":"q","outbox":5}`, `{"producer":"p","last":1e3}`, `{"producer":"p","last":-1}`,
		`{"producer":"p","producer":"q"}`, `{"producer":"p","raw":{"Producer":"q","producer":"q"}}`, `{"producer":"p","":1}`, `{"producer":"p","ö":1}`,
		`{"producer":"p","key":null,"last":007}`, `{"producer":"p","key":null,"last":7}`, `{"producer":null}`, `{"producer":"\ud83d\ude00"}`, `null`, `"p"`,
	}
	orders := []string{
		`{"action":"erase","order":"x\n"}`, `{"action":5,"order":"x"}`, `{"Order":"x"}`, `{"order":"x","ORDER":"y"}`, `{"order":["x"]}`,
	}
	chunks := []string{
		`{"sha256":"` + strings.Repeat("0a", 32) + `","bytes":3,"index":0,"chunks":1,"content":"AQID"}`,
		`{"SHA256":"` + strings.Repeat("0a", 32) + `","index":-0,"content":"AQID"}`,
		`{"sha256":"` + strings.Repeat("0A", 32) + `","index":0,"content":"AQID"}`,
		`{"sha256":"` + strings.Repeat("0a", 31) + `  ","index":0,"content":"AQID"}`,
		`{"sha256":"` + strings.Repeat("0a", 32) + `","index":9223372036854775808,"content":"AQID"}`,
		`{"sha256":"` + strings.Repeat("0a", 32) + `","index":true,"content":"AQID"}`,
		`{"sha256":"` + strings.Repeat("0a", 32) + `","index":1,"content":"AQI\nD","x":{"content":"AQID"}}`,
		`{"sha256":"` + strings.Repeat("0a", 32) + `","index":1,"content":[1,2,3],"x":{"content":"AQID"}}`,
		`{"sha256":"` + strings.Repeat("0a", 32) + `","index":1,"content":"AQID","Content":"AQIE"}`,
		`{"sha256":"` + strings.Repeat("0a", 32) + `","index":1,"content":"AQID","blobs":{"a":{"bytes":"1"}}}`,
		`{"sha256":"` + strings.Repeat("0a", 32) + `","index":1,"content":"AQID","redacted":[{"start":1.5}]}`,
		`{"sha256":"` + strings.Repeat("0a", 32) + `","index":1,"content":"AQID","redacted":[null,{"Start":1}],"blobs":{"a":null}}`,
		`{"sha256":"` + strings.Repeat("0a", 32) + `","content":"QR=="}`,
		`{"sha256":"` + strings.Repeat("0a", 32) + `","content":"QQ=="}`,
	}
	for _, n := range []int{60, 61} { // 64 members count, and 65 do not
		seal := []byte(`{"count":1,"first":1,"last":2,"digest":""`)
		for i := range n {
			seal = fmt.Appendf(seal, `,"m%d":1`, i)
		}
		seals = append(seals, string(seal)+"}")
	}
	return slices.Concat(
		formsOf(events.RunSealed, seals...), formsOf(events.GapRecorded, gaps...), formsOf(events.ProducerLost, losses...),
		formsOf(events.AuditAccessed, orders...), formsOf(events.BlobChunk, chunks...),
		formsOf(events.ToolBefore, `{"verdicts":"deny"}`, `{"a":{"verdict":"deny"}}`, `["verdict","deny"]`, `{"verdict":["deny"]}`, `"deny"`),
		formsOf(events.ToolResult, `{"ﬆatus":"success"}`, `{"status":"success "}`, `{"result":{"status":"success"}}`),
		formsOf(events.Approval, `{"verdict":"deny"}`, `{"status":"success"}`),
	)
}

func formsOf(kind events.Kind, payloads ...string) (forms []Form) {
	for _, data := range payloads {
		forms = append(forms, Form{kind, data})
	}
	return forms
}
