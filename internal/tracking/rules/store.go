package rules

import (
	"cmp"
	"time"
)

// Key names one record of a tenant's state.
type Key struct{ Tenant, Kind, ID string }

// Compare orders keys by tenant, kind and id.
func (k Key) Compare(other Key) int {
	return cmp.Or(cmp.Compare(k.Tenant, other.Tenant), cmp.Compare(k.Kind, other.Kind), cmp.Compare(k.ID, other.ID))
}

// IssueKind is the kind of the records that have an [Issue] each.
const IssueKind = "issue"

// Store loads records and timers. It may return data from before the State's last changes,
// because the State checks these first.
type Store interface {
	// Load returns the JSON of a record, or nil if it does not exist.
	Load(Key) ([]byte, error)
	// Timers returns at most limit timers of the tenant that are due at or before at,
	// ordered by time, then by id.
	Timers(tenant string, at time.Time, limit int) ([]Timer, error)
}

// Timer starts an action when the tenant's clock reaches its time.
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

// Changes are the modified records and timers of a State. Store them in one transaction with
// the stream position of the last applied event. Equal changes have equal order.
type Changes struct {
	Records []Stored
	Set     []Timer // replace timers with the same id
	Cleared []Timer // may not exist; At is zero
}
