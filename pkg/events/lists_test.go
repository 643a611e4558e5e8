package events

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestPayload_LongLists(t *testing.T) {
	list := strings.Repeat(`{"hook":"h"},`, 5000) + `{"hook":"last"}`
	e := Event{Type: ToolBefore.Type(), Data: fmt.Appendf(nil, `{"tool":"a","Executions":[%s],"redacted":[%s],"verdict":"ask"}`, list, list)}
	d, err := Payload[ToolBeforeData](e)
	if err != nil || len(d.Executions) != maxListed || len(d.Redacted) != maxListed || d.Tool != "a" || d.Verdict != VerdictAsk || d.Executions[1].Hook != "h" {
		t.Errorf("%v: %d executions, %d redactions, %q, %q", err, len(d.Executions), len(d.Redacted), d.Tool, d.Verdict)
	}
}

// Metadata with too many values loses members, also if it comes in several members of one name.
func TestPayload_LongMetadata(t *testing.T) {
	many := strings.Repeat(`{"x":",[{\\\""},`, 500) + `1`
	data := fmt.Appendf(nil, `{"metadata":{"a":1, "long":[%s,%[1]s,%[1]s],"b":"x" ,"short":[%[1]s]},"Metadata":{"c":[%[1]s],"d":2}}`, many)
	d, err := Payload[StepFinishedData](Event{Type: StepFinished.Type(), Data: data})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"a": true, "long": false, "b": true, "short": true, "c": false, "d": true} {
		if _, got := d.Metadata[name]; got != want {
			t.Errorf("%s: %t, want %t", name, got, want)
		}
	}
}

// FuzzElements compares Elements, SameEscapes and withShortLists with encoding/json.
func FuzzElements(f *testing.F) {
	for _, data := range []string{`[]`, `[1,"a",{"b":[2]}]`, `{"a":"\u0061\n\/\"\\","b":"x"}`, `"\ud83d\ude00"`, `[ 1 , 2 ]`, `[1,]`, `null`, ``, `["\u2028<&>\u007f"]`} {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data string) {
		var got []string
		for x := range Elements([]byte(data)) {
			got = append(got, string(x))
		}
		same, short := SameEscapes([]byte(data)), withShortLists([]byte(data))
		s := scanner{data: []byte(data)}
		if s.value(1) != nil || s.pos < len(data) {
			return // all of them ended without a panic
		}
		var want []json.RawMessage
		if json.Unmarshal([]byte(data), &want) != nil {
			want = nil
		}
		if len(got) != len(want) {
			t.Fatalf("%q: %d elements, want %d", data, len(got), len(want))
		}
		for i := range got {
			if got[i] != string(want[i]) {
				t.Errorf("%q: element %d is %q, want %q", data, i, got[i], want[i])
			}
		}
		if string(short) != data {
			t.Errorf("%q: short lists are %q", data, short)
		}
		if again := SameEscapes(same); !bytes.Equal(again, same) || !bytes.Equal(tokens(t, string(same)), tokens(t, data)) {
			t.Errorf("%q: same escapes are %q, and then %q", data, same, again)
		}
	})
}

// tokens returns the tokens of JSON, with texts in one way of writing.
func tokens(t *testing.T, data string) (list []byte) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(data))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil {
			return list
		}
		list = fmt.Appendf(list, "%T %q,", token, fmt.Sprint(token))
	}
}
