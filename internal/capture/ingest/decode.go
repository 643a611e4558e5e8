package ingest

import "github.com/hooktrail/hooktrail/pkg/events"

// DecodeEvent reads one CloudEvent in JSON structured mode, as [CloudEvents] reads a
// line. It returns errors of [events.Decode] and [events.Event.Normalize], errors
// that wrap [ErrRecord], and errors about ids.
func DecodeEvent(data []byte) (events.Event, error) { return decodeEvent(data, false) }
