package ingest

import (
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/prices"
)

// Options describe the input of an adapter.
type Options struct {
	File   string // name for reports, and for the session id if the transcript has none
	Tenant string // the tenant of the events
	Only   bool   // [CloudEvents] reports events of other tenants and does not yield them

	// Records makes [CloudEvents] also yield Hooktrail's own records. Only readers that publish
	// nothing may set it.
	Records bool

	HookKey []byte // secret for the event ids of stored hook payloads; may be nil

	// Prices estimates the cost of runs whose input states only tokens. No event id depends on it.
	Prices *prices.Table

	// Now returns the time of events whose input has none, by default the start of 1970. No event
	// id depends on it.
	Now func() time.Time
	// Open means that another program still writes the input. Its last line may be incomplete, and
	// its end does not finish runs.
	Open bool
}
