package ingest

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/hooktrail/hooktrail/pkg/events"
)

func offsetInInput(input []byte, e events.Event, err error) error {
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

func findPayload(input []byte) (start int, data json.RawMessage) {
	in := json.NewDecoder(bytes.NewReader(input))
	for {
		token, err := in.Token()
		if err != nil {
			return 0, nil
		}
		name, isName := token.(string)
		if !isName {
			continue
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
