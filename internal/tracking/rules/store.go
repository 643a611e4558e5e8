package rules

import (
	"cmp"
	"time"
)

// A Key identifies one stored record of a tenant.
type Key struct{ Tenant, Kind, ID string }

// Compare orders keys by tenant, kind and id.
func (k Key) Compare(other Key) int {
	return cmp.Or(cmp.Compare(k.Tenant, other.Tenant), cmp.Compare(k.Kind, other.Kind), cmp.Compare(k.ID, other.ID))
}

// IssueKind is the Kind in the [Key] of a record that contains an [Issue].
const IssueKind = "issue"

// A Store loads the stored records and timers of a State. It need not contain the newest changes,
// because the State has them in memory.
type Store interface {
	// Load returns the JSON of a record, or nil if there is no such record.
	Load(Key) ([]byte, error)
	// Timers returns at most limit timers that are due at the given time, ordered by time and id.
	Timers(tenant string, at time.Time, limit int) ([]Timer, error)
}

// A Timer makes the rules act at a given time, such as the end of a wait. The time is compared with
// the clock in [Tenant], which follows the times of events.
type Timer struct {
	Tenant string
	ID     string // unique per tenant
	At     time.Time
}

func (t Timer) compare(other Timer) int {
	return cmp.Or(t.At.Compare(other.At), cmp.Compare(t.ID, other.ID))
}

// Stored is the JSON of a record together with its key.
type Stored struct {
	Key
	JSON []byte // nil if deleted
}

// Changes contains the records and timers of a State that have changed. Store them in one
// transaction with the position in the stream, so that a crash loses no change.
type Changes struct {
	Records []Stored
	Set     []Timer // new timers. They replace timers with the same id
	Cleared []Timer // timers to delete, if they exist. At is zero
}
