package cehttp_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/binding"
	"github.com/cloudevents/sdk-go/v2/event"
	sdk "github.com/cloudevents/sdk-go/v2/protocol/http"
	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/capture/ingest/cehttp"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/ingesttest"
	"github.com/hooktrail/hooktrail/internal/testkit/realdata"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func typed(contentType string) map[string]string {
	return map[string]string{"Content-Type": contentType}
}

func post(headers map[string]string, body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/v1/events", strings.NewReader(body))
	for k, v := range headers {
		r.Header.Set(k, v)
	}
	return r
}

func all(r *http.Request) (list []events.Event, err error) {
	list = []events.Event{}
	for got, err := range cehttp.Read(r, 1<<20) {
		if err != nil {
			return nil, err
		}
		list = append(list, got.Event)
	}
	return list, nil
}

func TestRead_Conformance(t *testing.T) {
	text := ingesttest.Data(t, realdata.Path(t, "cloudevents", "conformance", "features", "http-protocol-binding.feature"))
	outlines := strings.Split(string(text), "Scenario Outline:")[1:]
	if len(outlines) != 2 {
		t.Fatalf("got %d outlines, want 2", len(outlines))
	}
	for _, outline := range outlines {
		docs := strings.Split(outline, `"""`)
		head, body, _ := strings.Cut(dedent(docs[1]), "\n\n")
		for _, contentType := range tableColumn(docs[4]) {
			t.Run(contentType, func(t *testing.T) {
				headers := map[string]string{}
				for _, line := range strings.Split(head, "\n")[1:] {
					if k, v, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && k != "Content-Length" {
						headers[k] = strings.ReplaceAll(v, "<contentType>", contentType)
					}
				}
				list, err := all(post(headers, body))
				if err != nil {
					t.Fatal(err)
				}
				e := list[0]
				got := map[string]string{
					"id": e.ID, "specversion": "1.0", "type": e.Type, "source": e.Source,
					"time": e.Time.Format(time.RFC3339Nano), "datacontenttype": e.DataContentType,
				}
				want := tableRows(docs[2])
				for k, v := range want {
					want[k] = strings.ReplaceAll(v, "<contentType>", contentType)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("attributes (-want +got):\n%s", diff)
				}
				if got, want := string(e.Data), `{"message":"Hello World!"}`; got != want {
					t.Errorf("got data %s, want %s", got, want)
				}
			})
		}
	}
}

func dedent(s string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimLeft(s, "\n")) {
		b.WriteString(strings.TrimPrefix(line, "        "))
	}
	return b.String()
}

func tableRows(s string) map[string]string {
	rows := map[string]string{}
	for line := range strings.Lines(s) {
		if cells := strings.Split(line, "|"); len(cells) == 4 && strings.TrimSpace(cells[1]) != "key" {
			rows[strings.TrimSpace(cells[1])] = strings.TrimSpace(cells[2])
		}
	}
	return rows
}

func tableColumn(s string) (cells []string) {
	for line := range strings.Lines(s) {
		if row := strings.Split(line, "|"); len(row) == 3 && strings.TrimSpace(row[1]) != "contentType" {
			cells = append(cells, strings.TrimSpace(row[1]))
		}
	}
	return cells
}

func TestRead_SDK(t *testing.T) {
	sent := event.New()
	sent.SetID("1 %\"é🌎")
	sent.SetSource("/a?b=c")
	sent.SetType("com.example.some")
	sent.SetSubject("run one")
	sent.SetTime(time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC))
	sent.SetExtension("runid", "run one")
	sent.SetExtension("flag", true)
	for _, data := range []struct {
		contentType string
		body        any
	}{{"application/json", map[string]any{"a": []int{1}}}, {"text/plain", []byte("Hello 🌎\n")}, {"application/octet-stream", []byte{0, 255}}} {
		if err := sent.SetData(data.contentType, data.body); err != nil {
			t.Fatal(err)
		}
		for _, mode := range []string{"binary", "structured"} {
			t.Run(mode+" "+data.contentType, func(t *testing.T) {
				ctx := binding.WithForceBinary(t.Context())
				if mode == "structured" {
					ctx = binding.WithForceStructured(t.Context())
				}
				r := httptest.NewRequest(http.MethodPost, "/v1/events", http.NoBody)
				if err := sdk.WriteRequest(ctx, binding.ToMessage(&sent), r); err != nil {
					t.Fatal(err)
				}
				list, err := all(r)
				if err != nil {
					t.Fatal(err)
				}
				checkSame(t, sent, list[0])
			})
		}
	}
	t.Run("Batch", func(t *testing.T) {
		r, err := sdk.NewHTTPRequestFromEvents(t.Context(), "http://localhost/v1/events", []event.Event{sent, sent})
		if err != nil {
			t.Fatal(err)
		}
		list, err := all(r)
		if err != nil || len(list) != 2 {
			t.Fatalf("got %d events and %v", len(list), err)
		}
		checkSame(t, sent, list[1])
	})
}

func checkSame(t *testing.T, sent event.Event, got events.Event) {
	t.Helper()
	if err := got.Validate(); err != nil {
		t.Fatal(err)
	}
	var read event.Event
	if err := json.Unmarshal(got.Encode(), &read); err != nil {
		t.Fatalf("the SDK cannot read %s: %v", got.Encode(), err)
	}
	read.SetExtension("flag", read.Extensions()["flag"] == true || read.Extensions()["flag"] == "true")
	if diff := cmp.Diff(sent.String(), read.String()); diff != "" {
		t.Errorf("(-sent +read):\n%s", diff)
	}
}

const ceType = "application/cloudevents+json"

func TestRead_Refuses(t *testing.T) {
	binary := func(more ...string) map[string]string {
		h := map[string]string{"Ce-Specversion": "1.0", "Ce-Id": "1", "Ce-Source": "s", "Ce-Type": "t", "Content-Type": "application/json"}
		for i := 0; i < len(more); i += 2 {
			h[more[i]] = more[i+1]
		}
		return h
	}
	event := `{"specversion":"1.0","id":"1","source":"s","type":"t"}`
	tests := []struct {
		name    string
		headers map[string]string
		body    string
		status  int
		want    string
	}{
		{"NoEvent", typed("application/json"), "{}", 415, "neither application/cloudevents+json nor application/cloudevents-batch+json nor application/x-ndjson nor ce- headers"},
		{"OtherFormat", typed("application/cloudevents+avro"), "", 415, `media type "application/cloudevents+avro" is not supported: application/cloudevents+json and application/cloudevents-batch+json are`},
		{"Charset", typed(ceType + "; charset=latin-1"), "", 415, `charset "latin-1" is not supported: utf-8 is`},
		{"Gzip", map[string]string{"Content-Type": ceType, "Content-Encoding": "gzip"}, "", 415, `content encoding "gzip" is not supported`},
		{"Structured", typed(ceType), `{"specversion":"1.0","id":7}`, 400, "id: unexpected byte '7', want a string (line 1, byte 26)"},
		{"Empty", typed(ceType), "", 400, "unexpected end, want '{' (line 1, byte 0)"},
		{"Payload", typed(ceType), `{"specversion":"1.0","id":"1","source":"s","type":"hooktrail.tool.result","time":"2026-01-01T00:00:00Z","data":{"status":"maybe"}}`, 400, `data.status: not one of "success", "error", "denied", "interrupted" (line 1, byte 121)`},
		{"LongRun", typed(ceType), `{"specversion":"1.0","id":"1","source":"s","type":"t","runid":"` + strings.Repeat("r", 300) + `"}`, 400, "runid: id cannot be used: 300 bytes long, at most 256 are allowed"},
		{"Seal", typed(ceType), `{"specversion":"1.0","id":"1","source":"s","type":"hooktrail.run.sealed"}`, 400, "run.sealed: a reserved kind"},
		{"BatchNoArray", typed(batchType), event, 400, "not a JSON array (line 1, byte 0)"},
		{"BatchSecond", typed(batchType), "[" + event + `, {"specversion":"0.3"}]`, 400, "event 1: specversion: only CloudEvents 1.0 is supported (line 1, byte 72)"},
		{"BatchBroken", typed(batchType), "[" + event + `, {]`, 400, "event 1: unexpected byte ']', want a name in quotes (line 1, byte 58)"},
		{"BatchOpen", typed(batchType), "[" + event, 400, "the array does not end (line 1, byte 55)"},
		{"BatchMore", typed(batchType), "[]1", 400, "more after the array (line 1, byte 2)"},
		{"BatchLines", typed(batchType), "[\n" + event + ",\n {\"specversion\":\n\"0.3\"}\n]", 400, "event 1: specversion: only CloudEvents 1.0 is supported (line 4, byte 75)"},
		{"BatchCut", typed(batchType), "[" + event + ",\n{", 400, "event 1: the event does not end (line 2, byte 58)"},
		{"BatchNoComma", typed(batchType), "[" + event + "\n" + event + "]", 400, "event 1: no comma behind an event (line 2, byte 56)"},
		{"BatchOfText", typed(batchType), `["a]b"]`, 400, "event 0: unexpected byte '\"', want '{' (line 1, byte 1)"},
		{"BatchComma", typed(batchType), "[" + event + ",]", 400, "event 1: unexpected end, want '{' (line 1, byte 56)"},
		{"BatchNumber", typed(batchType), "[7, {}]", 400, "event 0: unexpected byte '7', want '{' (line 1, byte 1)"},
		{"Row", typed("application/x-ndjson"), event + "\n\n oops\n", 400, "event 1: unexpected byte 'o', want '{' (line 3, byte 57)"},
		{"RowTwo", typed("application/jsonl"), event + event, 400, "event 0: unexpected byte '{', want the end (line 1, byte 54)"},
		{"RowCharset", typed("application/x-ndjson; charset=latin-1"), "", 415, `charset "latin-1" is not supported: utf-8 is`},
		{"BinaryMissing", map[string]string{"Ce-Specversion": "1.0", "Ce-Id": "1", "Ce-Type": "t"}, "", 400, "source: missing"},
		{"BinaryVersion", binary("Ce-Specversion", "0.3"), "", 400, "specversion: only CloudEvents 1.0 is supported"},
		{"BinaryName", binary("Ce-Some_thing", "x"), "", 400, `"some_thing": only lower-case letters and digits may name an attribute`},
		{"BinaryNotUTF8", binary("Ce-Subject", "%ff"), "", 400, "subject: not UTF-8"},
		{"BinaryData", binary("Ce-Data", "x"), "", 400, "data: cannot be a header"},
		{"BinaryInjects", binary(), `1,"tenant":"other"`, 400, "data: not JSON, as the content type says (line 1, byte 1)"},
		{"BinaryTime", binary("Ce-Time", "yesterday"), "", 400, "time: not a time of RFC 3339"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			list, err := all(post(tt.headers, tt.body))
			var refused *cehttp.Error
			if !errors.As(err, &refused) {
				t.Fatalf("got %v and %v, want a RequestError", list, err)
			}
			if refused.Status != tt.status || !strings.HasPrefix(refused.Error(), tt.want) {
				t.Errorf("got %d %s, want %d %s", refused.Status, refused, tt.status, tt.want)
			}
		})
	}
}

// A repeated header is refused, because readers disagree about it.
func TestRead_TwoHeaders(t *testing.T) {
	for name, second := range map[string]string{"Content-Type": "text/plain", "Content-Encoding": "gzip"} {
		r := post(map[string]string{"Content-Type": ceType, "Content-Encoding": "identity"}, `{"specversion":"1.0","id":"1","source":"s","type":"t"}`)
		r.Header.Add(name, second)
		if list, err := all(r); err == nil {
			t.Errorf("%s: got %v, want a refusal", name, list)
		}
	}
}

// The content type decides whether a body is JSON, and no content type means JSON. A
// body with an invalid type is stored byte for byte.
func TestRead_UnreadableType(t *testing.T) {
	for contentType, want := range map[string]string{";;;": `"data_base64":"MQ=="`, "json": `"data_base64":"MQ=="`, "": `"data":1`, "text/json": `"data":1`} {
		headers := map[string]string{"Ce-Specversion": "1.0", "Ce-Id": "1", "Ce-Source": "s", "Ce-Type": "t"}
		if contentType != "" {
			headers["Content-Type"] = contentType
		}
		list, err := all(post(headers, "1"))
		if err != nil || !strings.Contains(string(list[0].Encode()), want) {
			t.Errorf("%q: got %v, %v, want %s", contentType, list, err, want)
		}
	}
}

// Accepted events are valid, and the body of binary mode cannot change attributes.
func FuzzRead(f *testing.F) {
	f.Add(ceType, "1.0", "1", "x", []byte(`{"specversion":"1.0","id":"1","source":"s","type":"t"}`))
	f.Add("application/cloudevents-batch+json", "", "", "", []byte(`[{"specversion":"1.0","id":"1","source":"s","type":"t"}]`))
	f.Add("application/json", "1.0", "a%20b", `"q\"x"`, []byte(`{"a":1}`))
	f.Add("text/plain", "1.0", "1", "", []byte("\xff\x00"))
	f.Fuzz(func(t *testing.T, contentType, version, id, subject string, body []byte) {
		r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
		r.Header = http.Header{"Content-Type": {contentType}, "Ce-Specversion": {version}, "Ce-Id": {id}, "Ce-Source": {"s"}, "Ce-Type": {"t"}, "Ce-Subject": {subject}}
		list, err := all(r)
		if err != nil {
			return
		}
		for _, e := range list {
			if err := e.Validate(); err != nil {
				t.Fatalf("accepted %s: %v", e.Encode(), err)
			}
			if !strings.Contains(contentType, "cloudevents") && (e.Source != "s" || e.Type != "t" || e.Tenant != "" || len(e.Extra) != 0) {
				t.Fatalf("the body changed attributes: %s", e.Encode())
			}
		}
	})
}
