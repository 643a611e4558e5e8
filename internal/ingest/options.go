package ingest

import "time"

// Options are what an adapter needs to know about its input.
type Options struct {
	File   string // its name, for reports; names the session of a transcript that does not say
	Tenant string // whose events they are
	Only   bool   // [CloudEvents]: report events of other tenants, do not yield them

	// Time is that of events whose input tells none: when the file was changed,
	// say. No id depends on it.
	Time time.Time
	// Open says that the input is still being written: a last line that is not
	// complete is no fault, and what only the end of the input would finish (a
	// step, a run) is not told as finished.
	Open bool
}

// Start returns the time of events before the first that the input tells.
func (o Options) Start() time.Time {
	if o.Time.IsZero() {
		return time.Unix(0, 0).UTC()
	}
	return o.Time.UTC()
}
