package events

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// FuzzDecode checks that encoding a decoded event is a fixed point and keeps all attributes and
// data values.
func FuzzDecode(f *testing.F) {
	for _, k := range Kinds() {
		f.Add(sample(f, k).Encode())
	}
	f.Add([]byte(fullBytes))
	for _, members := range []string{
		``, `,"data":{"a":[1,2.50,"\ud83c\udf0e",null]}`, `,"data_base64":"aGVsbG8="`, `,"x":true,"y":-1,"z":"\u0000"`,
		`,"time":"2018-04-05T17:31:00.1+02:00"`, `,"subject":null`, `,"data": [ 1 , "a b" ] `, `,"sequence":"18446744073709551615"`,
	} {
		f.Add([]byte(foreign(members)))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		e, err := Decode(in)
		if err != nil {
			checkRefusal(t, in, err)
			return
		}
		out := e.Encode()
		if !json.Valid(out) || bytes.ContainsAny(out, "\n\r") {
			t.Fatalf("not one line of JSON: %q", out)
		}
		again, err := Decode(out)
		if err != nil {
			t.Fatalf("decode %q again: %v", out, err)
		}
		if diff := cmp.Diff(e, again); diff != "" {
			t.Fatalf("decoded again (-first +second):\n%s", diff)
		}
		if !bytes.Equal(out, again.Encode()) {
			t.Fatalf("encoded again: %q, then %q", out, again.Encode())
		}
		checkKept(t, in, out)
		checkValid(t, e)
	})
}

func checkRefusal(t *testing.T, in []byte, err error) {
	t.Helper()
	var invalid *InvalidError
	if !errors.As(err, &invalid) || invalid.Reason == "" || invalid.Offset < 0 || invalid.Offset > len(in) {
		t.Fatalf("%q is refused by %#v", in, err)
	}
}

func checkKept(t *testing.T, in, out []byte) {
	t.Helper()
	var before, after map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(in, &before), json.Unmarshal(out, &after)); err != nil {
		t.Fatal(err)
	}
	for name, value := range before {
		got, ok := after[name]
		absent := string(value) == "null" && name != "data" || string(value) == `""` && !ok && attributeIndex(name, 0) >= 0
		if ok == absent {
			t.Fatalf("attribute %q = %s: there is %s", name, value, got)
		}
		if ok && !sameValue(name, value, got) {
			t.Fatalf("attribute %q: got %s, want %s", name, got, value)
		}
		delete(after, name)
	}
	if len(after) > 0 {
		t.Fatalf("attributes out of nowhere: %v", after)
	}
}

func sameValue(name string, before, after json.RawMessage) bool {
	if name == "data" {
		var b bytes.Buffer
		return json.Compact(&b, before) == nil && bytes.Equal(b.Bytes(), after)
	}
	var was, is any
	if json.Unmarshal(before, &was) != nil || json.Unmarshal(after, &is) != nil {
		return false
	}
	switch name {
	case "time":
		want, reason := parseTime(fmt.Sprint(was))
		got, err := time.Parse(time.RFC3339Nano, fmt.Sprint(is))
		return reason == "" && err == nil && got.Equal(want)
	case "data_base64":
		var want, got []byte
		return json.Unmarshal(before, &want) == nil && json.Unmarshal(after, &got) == nil && bytes.Equal(want, got)
	}
	return cmp.Equal(was, is)
}

func checkValid(t *testing.T, e Event) {
	t.Helper()
	if e.Validate() != nil {
		return
	}
	if kind, own := e.ownKind(); own && len(e.Data) > 0 {
		if p, ok := PayloadOf(kind); ok {
			if err := json.Unmarshal(e.Data, p); err != nil {
				t.Fatalf("valid, but %v: %s", err, e.Data)
			}
		}
	}
	if err := e.Normalize(); err != nil {
		t.Fatalf("valid, but not after all: %v", err)
	}
	first := e.Encode()
	if err := e.Normalize(); err != nil || !bytes.Equal(first, e.Encode()) {
		t.Fatalf("normalised twice: %s, then %s: %v", first, e.Encode(), err)
	}
}

func FuzzPayload(f *testing.F) {
	for i, k := range Kinds() {
		f.Add(i, []byte(sample(f, k).Data))
	}
	f.Add(16, []byte(`{"step_status":"failed","STEP_STATUS":1,"metadata":{"a":1e999}}`))
	f.Fuzz(func(t *testing.T, kind int, data []byte) {
		kinds := Kinds()
		k := kinds[uint(kind)%uint(len(kinds))]
		checkValid(t, Event{ID: "1", Source: "/s", Type: k.Type(), Run: "r", Time: at, Data: data})
	})
}

// FuzzDecodeManifest also checks that a valid manifest accounts for each sequence.
func FuzzDecodeManifest(f *testing.F) {
	f.Add([]byte(sentBytes))
	f.Add([]byte(signedBytes))
	f.Add(granted().Encode())
	f.Add(beat(StateOpen, 600).Encode())
	f.Add(beat(StateClosed, 0).Encode())
	f.Add([]byte(`{"v":1,"producer":"p","first":1,"last":18446744073709551615,"missing":[{"first":2,"last":3},{"first":3,"last":9}]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		m, err := DecodeManifest(in)
		if err != nil {
			checkRefusal(t, in, err)
			return
		}
		out := m.Encode()
		if m.IsSigned() && !bytes.Equal(out, in) {
			t.Fatalf("the signature does not cover these bytes: %q", in)
		}
		again, err := DecodeManifest(out)
		if err != nil {
			t.Fatalf("decode %q again: %v", out, err)
		}
		if diff := cmp.Diff(m, again); diff != "" {
			t.Fatalf("decoded again (-first +second):\n%s", diff)
		}
		if m.Validate() != nil {
			return
		}
		covered := m.Count
		for _, r := range m.Missing {
			covered += r.Last - r.First + 1
		}
		if covered != m.Last-m.First+1 {
			t.Fatalf("%d of %d sequences are accounted for", covered, m.Last-m.First+1)
		}
	})
}

func TestEvent_RoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawEvent(t)
		if err := e.Normalize(); err != nil {
			t.Fatalf("normalize: %v", err)
		}
		got, err := Decode(e.Encode())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(e, got); diff != "" {
			t.Fatalf("round trip (-want +got):\n%s", diff)
		}
	})
}

func drawEvent(t *rapid.T) Event {
	text := rapid.StringMatching(`[ -~¡-ϿЀ-ӿ一-丏🌍-🌟]{0,20}`)
	name := rapid.StringMatching(`[a-z0-9]{1,24}`).Filter(func(s string) bool { return attributeIndex(s, 0) < 0 })
	e := Event{Sequence: rapid.Uint64().Draw(t, "sequence")}
	for i, field := range e.texts() {
		if field != nil {
			*field = text.Draw(t, attributes[i])
		}
	}
	e.ID, e.Source, e.Producer = "i"+e.ID, "s"+e.Source, "p"+e.Producer
	e.Type = rapid.SampledFrom([]string{"com.example", "hooktrail.tomorrow", "hooktrailx"}).Draw(t, "type")
	e.Time = time.Unix(rapid.Int64Range(-62135596799, 253402300799).Draw(t, "time"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanos"))
	for _, n := range rapid.SliceOfNDistinct(name, 0, 4, rapid.ID[string]).Draw(t, "extra") {
		value := rapid.SampledFrom([]string{`true`, `false`, `-7`, `""`, `"\u0041\n"`, strconv.Quote("ü" + n)}).Draw(t, n)
		e.Extra = append(e.Extra, Attribute{n, json.RawMessage(value)})
	}
	switch rapid.IntRange(0, 2).Draw(t, "payload") {
	case 1:
		e.Data = json.RawMessage(rapid.SampledFrom([]string{`null`, ` { "a" : [ 1.0 , "\u2028" ] } `, `"x"`, `-0.0e1`}).Draw(t, "data"))
	case 2:
		e.Binary = rapid.SliceOf(rapid.Byte()).Draw(t, "binary")
		if e.Binary == nil {
			e.Binary = []byte{}
		}
	}
	return e
}

func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "plain", "\x00\x1f\x7f\"\\/", "ü 🌎 \u2028", "\xff", "\xed\xa0\x80"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e := Event{ID: "i" + s, Source: "/s", Type: "t"}
		if err := e.Validate(); err != nil {
			if s = strings.ToValidUTF8(s, "?"); e.ID == "i"+s && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || 0x7f <= r && r <= 0x9f }) &&
				len(s) < MaxAttributeBytes-len("i/st") {
				t.Fatalf("%q is refused: %v", s, err)
			}
			return
		}
		got, err := Decode(e.Encode())
		if err != nil || got.ID != e.ID {
			t.Fatalf("got %q, %v, want %q", got.ID, err, e.ID)
		}
	})
}
