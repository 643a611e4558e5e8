package publisher

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// senderID returns the id that the sender of e used.
func senderID(e events.Event) string {
	for _, a := range e.Extra {
		var id string
		if a.Name == originalID && json.Unmarshal(a.Value, &id) == nil {
			return id
		}
	}
	return e.ID
}

// Two senders use the same id. Both events are stored, once each, with different ids. The senders
// get their own ids back.
//
//guarantee:sender-ids
func TestRun_SendersWithTheSameID(t *testing.T) {
	srv, b := open(t)
	dir := t.TempDir()
	r := runServer(t, Options{Broker: b, DataDir: dir})
	of := func(source string) string {
		return strings.Replace(one("1"), `"source":"s"`, `"source":"`+source+`"`, 1)
	}
	for range 2 {
		for _, source := range []string{"/p", "/q"} {
			if status, body := r.post(t, of(source)); status != 202 || !strings.Contains(body, `"ids":["1"]`) {
				t.Fatalf("%s: got %d %s", source, status, body)
			}
		}
	}
	r.end(t)
	if _, err := Pipe(t.Context(), strings.NewReader(of("/p")+"\n"+of("/r")+"\n"), PipeOptions{Broker: b, DataDir: dir}); err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{}
	for _, e := range srv.Events(t) {
		if e.Kind() != events.Custom {
			continue
		}
		if senderID(e) != "1" || ids[e.ID] != "" && ids[e.ID] != e.Source {
			t.Errorf("%s: id %s of sender id %s, also of %q", e.Source, e.ID, senderID(e), ids[e.ID])
		}
		ids[e.ID] = e.Source
	}
	if len(ids) != 3 {
		t.Errorf("got %v, want the same event by both ways, and one of each other source", ids)
	}
}

func FuzzIdentify(f *testing.F) {
	f.Add("/p", "1")
	f.Add("/p", events.NewID())
	f.Add("/p", "urn:uuid:"+events.NewID())
	f.Fuzz(func(t *testing.T, source, id string) {
		if !utf8.ValidString(id) {
			t.Skip()
		}
		e := events.Event{Source: source, ID: id}
		identify(&e)
		once := e.ID
		if id != "" && (len(once) != uuidLength || senderID(e) != id) {
			t.Errorf("got id %q, sender id %q, want a UUID and %q", once, senderID(e), id)
		}
		if identify(&e); e.ID != once || id != "" && senderID(e) != id {
			t.Errorf("again: got %q, %q, want %q, %q", e.ID, senderID(e), once, id)
		}
		other := events.Event{Source: source + "x", ID: id}
		if identify(&other); other.ID == e.ID && e.ID != id {
			t.Error("two sources have one id")
		}
	})
}
