package publisher

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/google/uuid"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// originalID is the attribute for the id that the sender gave an event.
const originalID = "originalid"

const uuidLength = 36 // uuid.Validate also accepts longer forms

// identify replaces an id that is not a UUID, because other senders may use it too. CloudEvents
// only require that source and id together are unique, but ledgers know events by their ids alone.
// The new id depends on both, so a repeated event has the same id.
func identify(e *events.Event) {
	if len(e.ID) == uuidLength && uuid.Validate(e.ID) == nil || e.ID == "" {
		return
	}
	original, err := json.Marshal(e.ID)
	if err != nil {
		return // unreachable: strings can be encoded
	}
	e.Extra = slices.DeleteFunc(slices.Clone(e.Extra), func(a events.Attribute) bool { return a.Name == originalID })
	e.Extra = append(e.Extra, events.Attribute{Name: originalID, Value: original})
	e.ID = events.DeriveID("sender", e.Source, e.ID)
}

type identified struct{ to sink }

// Append implements [Appender].
func (i identified) Append(ctx context.Context, e events.Event) (events.Event, error) {
	identify(&e)
	return i.to.Append(ctx, e)
}
