package consume

import (
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Event returns the event of a message that is not a manifest. It is a [*Poison]
// error if there is none, or one that claims another tenant, producer, run or
// kind than its subject: the subject is what the broker has checked. The ledger
// sets the same messages apart.
func (m Message) Event() (events.Event, error) {
	e, err := events.Decode(m.Data)
	if err != nil {
		return events.Event{}, &Poison{Sequence: m.Sequence, Reason: "not an event"} // err may quote it
	}
	a := m.Address
	for _, id := range []struct {
		name string
		same bool
	}{
		{"tenant", e.Tenant == a.Tenant},
		{"producer", e.Producer == a.Producer},
		{"run", e.Run == a.Run},
		{"kind", e.Kind() == a.Kind},
	} {
		if !id.same {
			return events.Event{}, &Poison{Sequence: m.Sequence, Reason: "event and subject differ in the " + id.name}
		}
	}
	return e, nil
}
