package ingest

import "github.com/hooktrail/hooktrail/pkg/events"

// DecodeEvent reads one CloudEvent in JSON structured mode and makes it one that
// no outbox has taken yet, as [CloudEvents] does with each line. Its errors are
// those of [events.Decode] and [events.Event.Normalize], or wrap [ErrRecord] or
// the refusal of an id.
func DecodeEvent(data []byte) (events.Event, error) { return decodeEvent(data, false) }
