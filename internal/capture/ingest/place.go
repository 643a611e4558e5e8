package ingest

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// placeInPayload returns err, which Normalize had about e, with its byte in the
// input that e was decoded from: Normalize counts from the start of a payload
// that has lost its white space.
func placeInPayload(input []byte, e events.Event, err error) error {
	if invalid, ok := errors.AsType[*events.InvalidError](err); !ok || invalid.Offset < 0 {
		return err
	}
	start, payload := findPayload(input)
	e.Data = payload
	invalid, ok := errors.AsType[*events.InvalidError](e.Normalize())
	if !ok || invalid.Offset < 0 {
		return err
	}
	invalid.Offset += start
	return invalid
}

// findPayload returns the data of an event as the input has it, and where.
func findPayload(input []byte) (start int, data json.RawMessage) {
	in := json.NewDecoder(bytes.NewReader(input))
	for {
		token, err := in.Token()
		if err != nil {
			return 0, nil
		}
		name, isName := token.(string)
		if !isName {
			continue // the braces of the event
		}
		var value json.RawMessage
		if in.Decode(&value) != nil {
			return 0, nil
		}
		if name == "data" {
			return int(in.InputOffset()) - len(value), value
		}
	}
}
