package ingest

import "time"

// Options are what an adapter needs to know about its input.
type Options struct {
	File   string // its name, for reports; names the session of a transcript that does not say
	Tenant string // whose events they are
	Only   bool   // [CloudEvents]: report events of other tenants, do not yield them

	// Records has [CloudEvents] yield the records of other outboxes about their own
	// numbering too, for who looks at a history and publishes nothing of it.
	Records bool

	// Now is the time of what the input tells no time of: when the file was last
	// changed, or the clock where the input comes as it happens. No id depends on
	// it. Without it that is the beginning of 1970.
	Now func() time.Time
	// Open says that the input is still being written: a last line that is not
	// complete is no fault, and what only the end of the input would finish (a
	// step, a run) is not told as finished.
	Open bool
}
