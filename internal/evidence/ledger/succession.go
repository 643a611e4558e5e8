package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
)

// SuccessionFile lies beside the key. It lists the changes of the key, the oldest
// first, and has no secret in it.
const SuccessionFile = "changes.json"

// Succession is one change of the key as [SuccessionFile] has it, with the orders
// that say so: one for each ledger that there was.
type Succession struct {
	Old    string            `json:"old"` // verifier keys
	New    string            `json:"new"`
	By     string            `json:"by"`
	Reason string            `json:"reason"`
	Ticket string            `json:"ticket,omitempty"`
	Time   time.Time         `json:"time"`
	Orders map[string]string `json:"orders"` // signed, by tenant
}

// ReadChain reads the keys up to a public one, as their text is, in dir, and the
// changes that led to it, the oldest first. One that leads on, to a key that was
// never put in place, did not come about.
func ReadChain(dir, public string) (c Chain, changes []Succession, err error) {
	if changes, err = readSuccession(dir); err != nil {
		return nil, nil, err
	}
	if c, err = chainTo(public, &changes); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", filepath.Join(dir, SuccessionFile), err)
	}
	return c, changes, nil
}

func readSuccession(dir string) (changes []Succession, err error) {
	text, err := os.ReadFile(filepath.Join(dir, SuccessionFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("changes of the key: %w", err)
	}
	if err := json.Unmarshal(text, &changes); err != nil {
		return nil, fmt.Errorf("changes of the key: %s: %w", filepath.Join(dir, SuccessionFile), err)
	}
	return changes, nil
}

// chainTo returns the keys up to a public one, and cuts off the changes behind it.
func chainTo(public string, changes *[]Succession) (Chain, error) {
	all := *changes
	end := slices.IndexFunc(all, func(c Succession) bool { return c.New == public }) + 1
	if end == 0 && len(all) > 0 && all[0].Old != public {
		return nil, errors.New("it leads to other keys than the one beside it: copy both from the same folder")
	}
	*changes = all[:end]
	var chain Chain
	for i, c := range all[:end] {
		if i > 0 && c.Old != all[i-1].New {
			return nil, fmt.Errorf("change %d does not begin where the one before it ends", i+1)
		}
		v, err := ParseKey(c.Old)
		if err != nil {
			return nil, fmt.Errorf("change %d: %w", i+1, err)
		}
		chain = append(chain, v)
	}
	v, err := ParseKey(public)
	return append(chain, v), err
}

// SuccessionOrders returns the signed orders of changes to the ledger of a tenant, in
// the order of the changes.
func SuccessionOrders(changes []Succession, tenant string) (signed []string) {
	for _, c := range changes {
		if o := c.Orders[tenant]; o != "" {
			signed = append(signed, o)
		}
	}
	return signed
}

// ReadKeyOrders returns the signed orders that change the key in dir, in order, for
// the ledger of a tenant: that of a change which has not come about yet too. There
// are none without a folder.
func ReadKeyOrders(dir, tenant string) (signed []string, err error) {
	changes, err := readSuccession(dir)
	return SuccessionOrders(changes, tenant), err
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
	_, public, err := ReadVerifier(dir)
	if err != nil {
		return nil, err
	}
	chain, changes, err := ReadChain(dir, public)
	if err != nil {
		return nil, err
	}
	for i, c := range changes {
		list = append(list, KeyChanged{
			From: KeyID(chain[i]), To: KeyID(chain[i+1]), OldKey: c.Old, NewKey: c.New,
			By: c.By, Reason: c.Reason, Ticket: c.Ticket, Time: c.Time, Tenants: slices.Sorted(maps.Keys(c.Orders)),
		})
	}
	return list, nil
}

// VerifierFile is the file of the verifier key beside the signing key.
const VerifierFile = "ledger.pub"

// ReadVerifier returns the verifier key in dir, and its text.
func ReadVerifier(dir string) (note.Verifier, string, error) {
	text, err := os.ReadFile(filepath.Join(dir, VerifierFile))
	if err != nil {
		return nil, "", fmt.Errorf("verifier key: %w", err)
	}
	return ParseVerifier(string(text))
}

// ParseVerifier reads a verifier key as [writer.Key.Public] returns it.
func ParseVerifier(text string) (note.Verifier, string, error) {
	text = strings.TrimSpace(text)
	v, err := note.NewVerifier(text)
	if err != nil {
		return nil, "", fmt.Errorf("verifier key: %w", err)
	}
	return v, text, nil
}

// KeyID names a key in reports: "hooktrail+8f3c1a2b".
func KeyID(v note.Verifier) string { return fmt.Sprintf("%s+%08x", v.Name(), v.KeyHash()) }
