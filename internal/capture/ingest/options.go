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

	// Records makes [CloudEvents] also yield Hooktrail's own records, such as seals and
	// gaps. Only readers that publish no events set Records.
	Records bool

	HookKey []byte // secret for the event ids of stored hook payloads; may be nil

	// Prices estimates the cost of runs whose input states tokens but no cost. Nil estimates
	// none. No event id depends on an estimate.
	Prices *prices.Table

	// Now returns a time, such as the last change of the file, for events whose input has
	// no time. No event id depends on this time. The default is the start of 1970.
	Now func() time.Time
	// Open means that another program still writes the input. An incomplete last line is
	// then accepted, and the end of the input does not finish steps and runs.
	Open bool
}
