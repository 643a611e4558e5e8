package ingest

import (
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/prices"
)

// Options configure how an input is read.
type Options struct {
	File   string // name for reports, and for the session id if the transcript has none
	Tenant string // the tenant of the events
	Only   bool   // [CloudEvents] reports events of other tenants and does not yield them

	// Records makes [CloudEvents] also yield events of kinds that only Hooktrail itself records.
	// Set Records only if no event is published.
	Records bool

	HookKey []byte // secret for the event ids of stored hook payloads; may be nil

	// Prices is the table for estimating the cost of runs whose input states only tokens. Event ids
	// do not depend on the cost.
	Prices *prices.Table

	// Now returns the time of events for which the input states no time. If Now is nil, they get
	// the start of 1970. Event ids do not depend on that time.
	Now func() time.Time
	// Open means that another program still writes the input. The last line of the input may then
	// be incomplete, and the end of the input does not finish runs.
	Open bool
}
