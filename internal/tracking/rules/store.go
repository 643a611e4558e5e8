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

// IssueKind is the kind of the records that contain an [Issue].
const IssueKind = "issue"

// A Store loads records and timers. It may return data that does not include the latest changes
// of the State, because the State looks at its changes first.
type Store interface {
	// Load returns the JSON of a record, or nil if it does not exist.
	Load(Key) ([]byte, error)
	// Timers returns at most limit timers of the tenant that are due at or before at,
	// ordered by time, then by id.
	Timers(tenant string, at time.Time, limit int) ([]Timer, error)
}

// A Timer starts an action when the tenant's clock reaches the time At.
type Timer struct {
	Tenant string
	ID     string // unique per tenant
	At     time.Time
}

func (t Timer) compare(other Timer) int {
	return cmp.Or(t.At.Compare(other.At), cmp.Compare(t.ID, other.ID))
}

// Stored is a record in its stored form.
type Stored struct {
	Key
	JSON []byte // nil if the record was deleted
}

// Changes has the modified records and timers of a State. Store them in one transaction with
// the stream position of the last event that was applied. Equal changes are in the same order.
type Changes struct {
	Records []Stored
	Set     []Timer // new timers, which replace timers with the same id
	Cleared []Timer // timers to delete, which may not exist; their At is zero
}
