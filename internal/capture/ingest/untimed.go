package ingest

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// elsewhere marks times that do not come from the input. Times that are calculated from them keep
// this location.
var elsewhere = time.FixedZone("not in the input", 0)

func markUntimed(e *events.Event) {
	if e.Time.Location() != elsewhere {
		return
	}
	e.Time = e.Time.UTC()
	e.Data = withMember(e.Data, "untimed", json.RawMessage("true"))
}

func withMember(object []byte, name string, value json.RawMessage) []byte {
	object = bytes.TrimRight(object, " \t\r\n")
	if len(object) < 2 || object[0] != '{' {
		return object
	}
	with := bytes.Clone(object[:len(object)-1])
	if len(bytes.TrimSpace(with)) > 1 {
		with = append(with, ',')
	}
	return append(append(append(append(with, JSON(name)...), ':'), value...), '}')
}
