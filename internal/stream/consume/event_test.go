package consume_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func TestMessage_Event(t *testing.T) {
	e := events.Event{
		ID: "id", Source: "/engine", Type: events.RunStarted.Type(), Time: time.Unix(1, 0).UTC(),
		Tenant: "acme", Producer: "p", Run: "r1", Sequence: 1, Data: []byte(`{}`),
	}
	good := subjects.Address{Tenant: "acme", Producer: "p", Run: "r1", Kind: events.RunStarted}
	change := func(f func(*subjects.Address)) subjects.Address {
		a := good
		f(&a)
		return a
	}
	for _, test := range []struct {
		name    string
		address subjects.Address
		data    []byte
		want    string
	}{
		{"Good", good, e.Encode(), ""},
		{"NoEvent", good, []byte(`{"secret`), "not an event"},
		{"Tenant", change(func(a *subjects.Address) { a.Tenant = "beta" }), e.Encode(), "differ in the tenant"},
		{"Producer", change(func(a *subjects.Address) { a.Producer = "q" }), e.Encode(), "differ in the producer"},
		{"Run", change(func(a *subjects.Address) { a.Run = "" }), e.Encode(), "differ in the run"},
		{"Kind", change(func(a *subjects.Address) { a.Kind = events.RunFinished }), e.Encode(), "differ in the kind"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := consume.Message{Sequence: 7, Address: test.address, Data: test.data}.Event()
			if test.want == "" {
				if err != nil || got.ID != "id" {
					t.Fatalf("got %+v, error %v", got, err)
				}
				return
			}
			var poison *consume.Poison
			if !errors.As(err, &poison) || poison.Sequence != 7 || !strings.Contains(poison.Reason, test.want) {
				t.Errorf("got %v, want poison that says %q", err, test.want)
			}
		})
	}
}
