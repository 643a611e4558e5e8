package events_test

import (
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/testkit/costly"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Reading the metadata of a payload takes little memory, whatever is in it.
func TestPayload_MetadataCosts(t *testing.T) {
	costly.Check(t, `"id":"s"`, 20, 4, func(name, payload string) {
		e := events.Event{Type: events.StepFinished.Type(), Data: []byte(strings.Replace(payload, `"a":`, `"metadata":`, 1))}
		if _, err := events.Payload[events.StepFinishedData](e); err != nil && name == "metadata" {
			t.Error(err)
		}
	})
}
