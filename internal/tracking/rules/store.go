package rules

import (
	"cmp"
	"time"
)

// A Key identifies one record in the state of a tenant.
type Key struct{ Tenant, Kind, ID string }

// Compare orders keys by tenant, kind and id.
func (k Key) Compare(other Key) int {
	return cmp.Or(cmp.Compare(k.Tenant, other.Tenant), cmp.Compare(k.Kind, other.Kind), cmp.Compare(k.ID, other.ID))
}

// IssueKind is the kind of records with an [Issue].
const IssueKind = "issue"

// A Store loads records and timers. It may lack the latest changes, which the State has in memory.
type Store interface {
	// Load returns the JSON of a record, or nil.
	Load(Key) ([]byte, error)
	// Timers returns at most limit timers that are due at the given time, ordered by time and id.
	Timers(tenant string, at time.Time, limit int) ([]Timer, error)
}

// A Timer starts an action at a time of the tenant's clock.
type Timer struct {
	Tenant string
	ID     string // unique per tenant
	At     time.Time
}

func (t Timer) compare(other Timer) int {
	return cmp.Or(t.At.Compare(other.At), cmp.Compare(t.ID, other.ID))
}

// Stored is the stored form of a record.
type Stored struct {
	Key
	JSON []byte // nil if deleted
}

// Changes has the modified records and timers of a State. Store them in one transaction with the
// stream position, so that none is lost.
type Changes struct {
	Records []Stored
	Set     []Timer // new timers. They replace timers with the same id
	Cleared []Timer // timers to delete, if they exist. At is zero
}
