package redact

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/pkg/events"
)

func redacted(tb testing.TB, data string) (string, []events.Redaction) {
	tb.Helper()
	e := events.Event{ID: "e-1", Type: events.Custom.Type(), Data: json.RawMessage(data)}
	if err := mustNew(tb, Options{}).Redact(&e); err != nil {
		tb.Fatal(err)
	}
	p, err := events.Payload[events.CustomData](e)
	if err != nil {
		tb.Fatal(err)
	}
	return string(e.Data), p.Redacted
}

func TestRedact(t *testing.T) {
	for _, test := range []struct{ name, data, want string }{
		{"Nothing", `{"tool":"Bash", "args":{"n":4111111111111111}}`, `{"tool":"Bash", "args":{"n":4111111111111111}}`},
		{
			"Text", `{"name":"x","data":{"to":["ann@example.com"]}}`,
			`{"name":"x","data":{"to":["[EMAIL_REDACTED]"]},"redacted":[{"field":"/data/to/0","rule":"email","start":0,"end":15}]}`,
		},
		{
			"NamesStay", `{"data":{"ann@example.com":"bob@example.com"}}`,
			`{"data":{"ann@example.com":"[EMAIL_REDACTED]"},"redacted":[{"field":"/data/[EMAIL_REDACTED]","rule":"email","start":0,"end":15}]}`,
		},
		{
			"EscapesStay", `{"data":"\u0041\n\"ann@example.com\"\/\u00e9 \ud83d\ude00"}`,
			`{"data":"\u0041\n\"[EMAIL_REDACTED]\"\/\u00e9 \ud83d\ude00","redacted":[{"field":"/data","rule":"email","start":3,"end":18}]}`,
		},
		{
			"Escaped", `{"data":"key \u0041KIA` + awsKey[4:19] + `\u0034 end"}`,
			`{"data":"key [SECRET_REDACTED] end","redacted":[{"field":"/data","rule":"aws-access-token","start":4,"end":24}]}`,
		},
		{
			"NewlineInKey", `{"data":"a\nb@example.com"}`,
			`{"data":"a\n[EMAIL_REDACTED]","redacted":[{"field":"/data","rule":"email","start":2,"end":15}]}`,
		},
		{
			"ByName", `{"data":{"api_key":"9f8g7h6j5k4l3m2n1b0v","other":"9f8g7h6j5k4l3m2n1b0w"}}`,
			`{"data":{"api_key":"[SECRET_REDACTED]","other":"9f8g7h6j5k4l3m2n1b0w"},"redacted":[{"field":"/data/api_key","rule":"generic-api-key","start":0,"end":20}]}`,
		},
		{
			"CopyInFront", `{"raw":{"echo":"9f8g7h6j5k4l3m2n1b0v"},"data":"export TOKEN=9f8g7h6j5k4l3m2n1b0v"}`,
			`{"raw":{"echo":"[SECRET_REDACTED]"},"data":"export TOKEN=[SECRET_REDACTED]","redacted":[{"field":"/raw/echo","rule":"generic-api-key","start":0,"end":20},{"field":"/data","rule":"generic-api-key","start":13,"end":33}]}`,
		},
		{
			"InTwoFields", `{"data":["` + awsKey[:10] + `","` + awsKey[10:] + `"]}`, `{"data":["` + awsKey[:10] + `","` + awsKey[10:] + `"]}`,
		},
		{
			"FileOfAName", `{"data":{"file_path":"a/secret.yaml","content":"kind: Secret\ndata:\n  pass: c2VjcmV0LXZhbHVlLTEyMw==\n"}}`,
			`{"data":{"file_path":"a/secret.yaml","content":"kind: Secret\ndata:\n  [SECRET_REDACTED]\n"},"redacted":[{"field":"/data/content","rule":"kubernetes-secret-yaml","start":21,"end":51}]}`,
		},
		{
			"Again", `{"data":"ann@example.com","redacted":[{"field":"/x","rule":"ip","start":1,"end":2}]}`,
			`{"data":"[EMAIL_REDACTED]","redacted":[{"field":"/x","rule":"ip","start":1,"end":2},{"field":"/data","rule":"email","start":0,"end":15}]}`,
		},
		{
			"AgainEmpty", `{"redacted":[],"data":"ann@example.com"}`,
			`{"redacted":[{"field":"/data","rule":"email","start":0,"end":15}],"data":"[EMAIL_REDACTED]"}`,
		},
		{
			"Space", "{ \"data\" : \"ann@example.com\" }\n",
			"{ \"data\" : \"[EMAIL_REDACTED]\" ,\"redacted\":[{\"field\":\"/data\",\"rule\":\"email\",\"start\":0,\"end\":15}]}\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, _ := redacted(t, test.data)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			if again, _ := redacted(t, got); again != got {
				t.Errorf("again: got %s", again)
			}
		})
	}
}

func TestRedact_WithoutMembers(t *testing.T) {
	r := mustNew(t, Options{})
	for _, test := range []struct {
		name string
		e    events.Event
		want events.Event
	}{
		{
			"Array",
			events.Event{Data: json.RawMessage(`[1,"ann@example.com"]`)},
			events.Event{Data: json.RawMessage(`[1,"[EMAIL_REDACTED]"]`), Extra: []events.Attribute{{Name: "redacted", Value: json.RawMessage(`"email 0-15 /1"`)}}},
		},
		{
			"String",
			events.Event{Data: json.RawMessage(`"ann@example.com"`), Extra: []events.Attribute{{Name: "redacted", Value: json.RawMessage(`"ip 1-2"`)}}},
			events.Event{Data: json.RawMessage(`"[EMAIL_REDACTED]"`), Extra: []events.Attribute{{Name: "redacted", Value: json.RawMessage(`"ip 1-2; email 0-15"`)}}},
		},
		{
			"NameIsTaken",
			events.Event{Data: json.RawMessage(`{"redacted":true,"to":"ann@example.com"}`)},
			events.Event{Data: json.RawMessage(`{"redacted":true,"to":"[EMAIL_REDACTED]"}`), Extra: []events.Attribute{{Name: "redacted", Value: json.RawMessage(`"email 0-15 /to"`)}}},
		},
		{
			"Text",
			events.Event{Binary: []byte("ann@example.com")},
			events.Event{Binary: []byte("[EMAIL_REDACTED]"), Extra: []events.Attribute{{Name: "redacted", Value: json.RawMessage(`"email 0-15"`)}}},
		},
		{
			"NoText",
			events.Event{Binary: []byte("\xff ann@example.com " + awsKey)},
			events.Event{Binary: []byte("\xff ann@example.com [SECRET_REDACTED]"), Extra: []events.Attribute{{Name: "redacted", Value: json.RawMessage(`"aws-access-token 18-38"`)}}},
		},
		{"Nothing", events.Event{}, events.Event{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := bytes.Clone(append(append([]byte{}, test.e.Data...), test.e.Binary...))
			e := test.e
			if err := r.Redact(&e); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, e); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if after := append(append([]byte{}, test.e.Data...), test.e.Binary...); !bytes.Equal(before, after) {
				t.Errorf("the caller's bytes are %s now", after)
			}
		})
	}
}

func TestJSON(t *testing.T) {
	r := mustNew(t, Options{})
	got, list, err := r.JSON(json.RawMessage(`["ann@example.com",1]`))
	if err != nil || string(got) != `["[EMAIL_REDACTED]",1]` {
		t.Errorf("got %s, %v", got, err)
	}
	if diff := cmp.Diff([]events.Redaction{{Field: "/0", Rule: "email", End: 15}}, list); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, list, err = r.JSON(json.RawMessage(`{"a":"b"}`)); err != nil || string(got) != `{"a":"b"}` || list != nil {
		t.Errorf("nothing to find: got %s, %v, %v", got, list, err)
	}
	if _, _, err = r.JSON(json.RawMessage(`{`)); err == nil {
		t.Error("no JSON: no error")
	}
}

// The chunk of a blob stays unchanged, because its hash names the blob.
func TestRedact_BlobChunk(t *testing.T) {
	data := `{"sha256":"x","content":"` + awsKey + `","raw":"` + awsKey + `"}`
	e := events.Event{Type: events.BlobChunk.Type(), Data: json.RawMessage(data)}
	if err := mustNew(t, Options{}).Redact(&e); err != nil {
		t.Fatal(err)
	}
	if got := string(e.Data); !strings.Contains(got, `"content":"`+awsKey) || !strings.Contains(got, `"raw":"[SECRET_REDACTED]"`) {
		t.Errorf("got %s", got)
	}
}

//guarantee:secrets
func TestRedact_NoJSON(t *testing.T) {
	for _, data := range []string{
		`{`, `{"a`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `[`, `["`, `["a" "b"]`, `{1:2}`, `"a" "b"`, `{"a":,}`, `]`, `{"a":"` + awsKey + `"]`,
		strings.Repeat("[", 1<<20), strings.Repeat(`{"a":`, 1<<20),
	} {
		e := events.Event{ID: "e-1", Data: json.RawMessage(data)}
		err := mustNew(t, Options{}).Redact(&e)
		invalid, ok := errors.AsType[*events.InvalidError](err)
		if !ok || invalid.Attribute != "data" || strings.Contains(err.Error(), "AKIA") {
			t.Errorf("%.40s: got %v", data, err)
		}
	}
}

func TestRedact_Deep(t *testing.T) {
	data := `{"data":` + strings.Repeat("[", maxDepth-1) + `"ann@example.com"` + strings.Repeat("]", maxDepth-1) + "}"
	got, list := redacted(t, data)
	if !strings.Contains(got, "[EMAIL_REDACTED]") || len(list) != 1 || len(list[0].Field) > maxField+10 {
		t.Errorf("got %.300s, %v", got, list)
	}
}

func TestRedact_Many(t *testing.T) {
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, "a%d@example.com 203.0.113.%d ", i, i%250)
	}
	_, list := redacted(t, `{"data":"`+b.String()+`"}`)
	if len(list) != maxListed+2 {
		t.Fatalf("got %d redactions", len(list))
	}
	want := []events.Redaction{{Rule: "email", More: 2500}, {Rule: "ip", More: 2500}}
	if diff := cmp.Diff(want, list[maxListed:]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
