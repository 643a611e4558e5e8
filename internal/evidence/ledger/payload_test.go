package ledger_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// FuzzPayload checks that a payload that counts says the same to every reader of JSON. The order of
// its members does not matter, and no further member can hide another one.
func FuzzPayload(f *testing.F) {
	for _, form := range ledgertest.OtherForms() {
		f.Add(form.Data)
	}
	f.Fuzz(func(t *testing.T, data string) {
		for _, kind := range []events.Kind{events.RunSealed, events.GapRecorded, events.ProducerLost, events.AuditAccessed} {
			e := ledgertest.Form{Kind: kind, Data: data}.Event("")
			e, err := events.Decode(e.Encode())
			if err != nil || string(e.Data) != data {
				return
			}
			got, ok := decided(e)
			if !ok {
				continue
			}
			var members map[string]any
			d := json.NewDecoder(strings.NewReader(data))
			if d.UseNumber(); d.Decode(&members) != nil {
				t.Fatalf("%s: not an object", data)
			}
			for name, value := range got {
				if said := members[name]; said != value && (said != nil || value != "" && value != json.Number("0")) {
					t.Errorf("%s: %s is read as %q", data, name, value)
				}
			}
			e.Data = reversed(e.Data)
			if again, ok := decided(e); !ok || !equal(got, again) {
				t.Errorf("%s: in another order it says %q", data, again)
			}
			e.Data = append([]byte(`{"Last":1,"x":`), append(e.Data, '}')...)
			if _, ok := decided(e); ok {
				t.Errorf("%s: counts", e.Data)
			}
		}
	})
}

func TestSealIn_ManyMembers(t *testing.T) {
	counting := 0
	for _, form := range ledgertest.OtherForms() {
		if d, ok := ledger.SealIn(form.Event("")); form.Kind == events.RunSealed && strings.Contains(form.Data, "m59") {
			if counting++; ok != !strings.Contains(form.Data, "m60") || ok && d.Last != 2 {
				t.Errorf("%s: %+v, %t", form.Data, d, ok)
			}
		}
	}
	if counting != 2 {
		t.Errorf("%d forms with many members", counting)
	}
}

// decided returns what a payload that counts says.
func decided(e events.Event) (said map[string]any, ok bool) {
	number := func(n uint64) json.Number { text, _ := json.Marshal(n); return json.Number(text) }
	switch e.Kind() {
	case events.RunSealed:
		d, ok := ledger.SealIn(e)
		return map[string]any{"count": number(d.Count), "first": number(d.First), "last": number(d.Last), "digest": d.Digest}, ok
	case events.GapRecorded:
		d, ok := ledger.GapIn(e)
		return map[string]any{"first": number(d.First), "last": number(d.Last), "reason": d.Reason}, ok
	case events.ProducerLost:
		d, ok := ledger.LossIn(e)
		return map[string]any{"producer": d.Producer, "outbox": d.Outbox, "last": number(d.Last), "key": d.Key}, ok
	}
	order := ledger.OrderIn(e)
	return map[string]any{"order": order}, order != ""
}

func equal(a, b map[string]any) bool {
	for name, value := range a {
		if b[name] != value {
			return false
		}
	}
	return len(a) == len(b)
}

// reversed returns an object whose members have the opposite order.
func reversed(data json.RawMessage) json.RawMessage {
	var members []string
	for name, value := range events.Members(data) {
		text, _ := json.Marshal(name)
		members = append(members, string(text)+":"+string(value))
	}
	slices.Reverse(members)
	return json.RawMessage("{" + strings.Join(members, ",") + "}")
}
