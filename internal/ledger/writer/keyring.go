package writer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hooktrail/hooktrail/internal/ledger"
)

// chainFile lies beside the key. It lists the changes of the key, the oldest
// first, and has no secret in it.
const chainFile = "changes.json"

// ErrKey is wrapped where a ledger was given to a key that is not here. It counts as
// [ledger.ErrDamaged]: no retry mends it, and nothing may be added to the ledger.
var ErrKey error = keyError{}

type keyError struct{}

// Error implements error.
func (keyError) Error() string { return "the key that is in charge of the ledger is not here" }

// Is makes it one of those that hold a ledger back.
func (keyError) Is(target error) bool { return target == ledger.ErrDamaged }

// change is one change of the key, with the orders that say so: one for each
// ledger that there was.
type change struct {
	Old    string            `json:"old"` // verifier keys
	New    string            `json:"new"`
	By     string            `json:"by"`
	Reason string            `json:"reason"`
	Ticket string            `json:"ticket,omitempty"`
	Time   time.Time         `json:"time"`
	Orders map[string]string `json:"orders"` // signed, by tenant
}

// readChain reads the keys up to a public one in dir, and the changes that led to
// it. One that leads on, to a key that was never put in place, did not come about.
func readChain(dir, public string) (ring ledger.Chain, changes []change, err error) {
	if changes, err = readChanges(dir); err != nil {
		return nil, nil, err
	}
	if ring, err = chainTo(public, &changes); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", filepath.Join(dir, chainFile), err)
	}
	return ring, changes, nil
}

func readChanges(dir string) (changes []change, err error) {
	text, err := os.ReadFile(filepath.Join(dir, chainFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("changes of the key: %w", err)
	}
	if err := json.Unmarshal(text, &changes); err != nil {
		return nil, fmt.Errorf("changes of the key: %s: %w", filepath.Join(dir, chainFile), err)
	}
	return changes, nil
}

// chainTo returns the keys up to a public one, and cuts off the changes behind it.
func chainTo(public string, changes *[]change) (ledger.Chain, error) {
	all := *changes
	end := slices.IndexFunc(all, func(c change) bool { return c.New == public }) + 1
	if end == 0 && len(all) > 0 && all[0].Old != public {
		return nil, errors.New("it leads to other keys than the one beside it: copy both from the same folder")
	}
	*changes = all[:end]
	var ring ledger.Chain
	for i, c := range all[:end] {
		if i > 0 && c.Old != all[i-1].New {
			return nil, fmt.Errorf("change %d does not begin where the one before it ends", i+1)
		}
		v, err := ledger.ParseKey(c.Old)
		if err != nil {
			return nil, fmt.Errorf("change %d: %w", i+1, err)
		}
		ring = append(ring, v)
	}
	v, err := ledger.ParseKey(public)
	return append(ring, v), err
}

// first returns the position at which the ledger of a tenant begins: that of the
// oldest key which has signed it.
func (k *Key) first(tenant string) int {
	if tenant == "" { // no order reaches it: see [Ledger.signAgain]
		return 0
	}
	for i, c := range k.changes {
		if c.Orders[tenant] != "" {
			return i
		}
	}
	return len(k.changes)
}

// Changes returns the signed orders that put the key in charge of the ledger of a
// tenant, from a position on, in order: 0 is all of them.
func (k *Key) Changes(tenant string, position int) (signed []string) {
	return ordersTo(tenant, k.changes[min(position, len(k.changes)):])
}

// ordersTo returns the signed orders of changes to the ledger of a tenant, in order.
func ordersTo(tenant string, changes []change) (signed []string) {
	for _, c := range changes {
		if o := c.Orders[tenant]; o != "" {
			signed = append(signed, o)
		}
	}
	return signed
}

// KeyChanged is a change of the key, as it was recorded beside it.
type KeyChanged struct {
	From    string    `json:"from"` // ids, as reports name keys
	To      string    `json:"to"`
	OldKey  string    `json:"old_key"` // verifier keys
	NewKey  string    `json:"new_key"`
	By      string    `json:"by"`
	Reason  string    `json:"reason"`
	Ticket  string    `json:"ticket,omitempty"`
	Time    time.Time `json:"time"`
	Tenants []string  `json:"tenants"` // whose ledgers there were, in order
}

// ReadKeyChanges returns the changes that led to the key in dir, the oldest first.
func ReadKeyChanges(dir string) (list []KeyChanged, err error) {
	_, public, err := ledger.ReadVerifier(dir)
	if err != nil {
		return nil, err
	}
	ring, changes, err := readChain(dir, public)
	if err != nil {
		return nil, err
	}
	for i, c := range changes {
		list = append(list, KeyChanged{
			From: ledger.KeyID(ring[i]), To: ledger.KeyID(ring[i+1]), OldKey: c.Old, NewKey: c.New,
			By: c.By, Reason: c.Reason, Ticket: c.Ticket, Time: c.Time, Tenants: slices.Sorted(maps.Keys(c.Orders)),
		})
	}
	return list, nil
}

// ReadKeyOrders returns the signed orders that put the key in dir in charge of the
// ledger of a tenant, in order. There are none without a folder.
func ReadKeyOrders(dir, tenant string) (signed []string, err error) {
	changes, err := readChanges(dir)
	return ordersTo(tenant, changes), err
}
