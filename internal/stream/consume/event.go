package consume

import (
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Event decodes the event of a message. It returns a [*Poison] if the event does not match the
// subject of the message, because the broker does not check that.
func (m Message) Event() (events.Event, error) {
	e, err := events.Decode(m.Data)
	if err != nil {
		return events.Event{}, &Poison{Sequence: m.Sequence, Reason: "not an event"} // err may quote the message
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
