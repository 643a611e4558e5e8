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

// RotationsFile is the name of the file that lists all replacements of the signing key, the oldest
// first. The file contains no secret.
const RotationsFile = "changes.json"

// KeyRotation is one replacement of the signing key, as listed in [RotationsFile].
type KeyRotation struct {
	Old    string            `json:"old"` // verifier keys
	New    string            `json:"new"`
	By     string            `json:"by"`
	Reason string            `json:"reason"`
	Ticket string            `json:"ticket,omitempty"`
	Time   time.Time         `json:"time"`
	Orders map[string]string `json:"orders"` // signed orders by tenant, for ledgers that existed then
	// Checkpoints contains the newest checkpoint of each ledger at the time of the change, signed
	// with the new key. Earlier versions did not store checkpoints.
	Checkpoints map[string]string `json:"checkpoints,omitempty"`
}

// ReadChain reads the signing keys in dir up to the given public key, and the changes between these
// keys. It ignores later changes, which an interrupted replacement of the key can leave.
func ReadChain(dir, public string) (c Chain, changes []KeyRotation, err error) {
	if changes, err = readRotations(dir); err != nil {
		return nil, nil, err
	}
	if c, err = chainTo(public, &changes); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", filepath.Join(dir, RotationsFile), err)
	}
	return c, changes, nil
}

// ReadRotations returns the key changes that led to the current key in dir. If it cannot read a
// file, it returns none, so that only the current key is trusted.
func ReadRotations(dir string) []KeyRotation {
	_, public, err := ReadVerifier(dir)
	if err != nil {
		return nil
	}
	_, changes, err := ReadChain(dir, public)
	if err != nil {
		return nil
	}
	return changes
}

func readRotations(dir string) (changes []KeyRotation, err error) {
	text, err := os.ReadFile(filepath.Join(dir, RotationsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("changes of the key: %w", err)
	}
	if err := json.Unmarshal(text, &changes); err != nil {
		return nil, fmt.Errorf("changes of the key: %s: %w", filepath.Join(dir, RotationsFile), err)
	}
	return changes, nil
}

// chainTo removes the changes after the key public, because their keys were never installed.
func chainTo(public string, changes *[]KeyRotation) (Chain, error) {
	all := *changes
	end := slices.IndexFunc(all, func(c KeyRotation) bool { return c.New == public }) + 1
	if end == 0 && len(all) > 0 && all[0].Old != public {
		return nil, errors.New("it does not lead to the key next to it: copy both files from the same folder")
	}
	*changes = all[:end]
	var chain Chain
	for i, c := range all[:end] {
		if i > 0 && c.Old != all[i-1].New {
			return nil, fmt.Errorf("change %d does not follow change %d", i+1, i)
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

// RotationOrders returns the signed orders in changes that the ledger of the given tenant must
// record.
func RotationOrders(changes []KeyRotation, tenant string) (signed []string) {
	for _, c := range changes {
		if o := c.Orders[tenant]; o != "" {
			signed = append(signed, o)
		}
	}
	return signed
}

// ReadKeyOrders returns the signed orders in dir that replace the signing key of the tenant's
// ledger. If a replacement was interrupted, the result includes its order, although the new key is
// not in use yet.
func ReadKeyOrders(dir, tenant string) (signed []string, err error) {
	changes, err := readRotations(dir)
	return RotationOrders(changes, tenant), err
}

// KeyChanged describes the replacement of one signing key by the next, as reports show it.
type KeyChanged struct {
	From    string    `json:"from"` // key ids, see [KeyID]
	To      string    `json:"to"`
	OldKey  string    `json:"old_key"` // verifier keys
	NewKey  string    `json:"new_key"`
	By      string    `json:"by"`
	Reason  string    `json:"reason"`
	Ticket  string    `json:"ticket,omitempty"`
	Time    time.Time `json:"time"`
	Tenants []string  `json:"tenants"` // sorted tenants that had a ledger then
}

// ReadKeyChanges describes the key changes that led to the current key in dir, the oldest first.
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

// VerifierFile is the name of the file with the public half of the signing key. It is in the same
// folder as the private half.
const VerifierFile = "ledger.pub"

// ReadVerifier returns the verifier key in dir, parsed and as text.
func ReadVerifier(dir string) (note.Verifier, string, error) {
	text, err := os.ReadFile(filepath.Join(dir, VerifierFile))
	if err != nil {
		return nil, "", fmt.Errorf("verifier key: %w", err)
	}
	return ParseVerifier(string(text))
}

// ParseVerifier parses a verifier key. It also returns the text of the key without surrounding
// white space.
func ParseVerifier(text string) (note.Verifier, string, error) {
	text = strings.TrimSpace(text)
	v, err := ParseKey(text)
	if err != nil {
		return nil, "", fmt.Errorf("verifier key: %w", err)
	}
	return v, text, nil
}

// KeyID returns the id of a key for reports, such as "hooktrail+8f3c1a2b".
func KeyID(v note.Verifier) string { return fmt.Sprintf("%s+%08x", v.Name(), v.KeyHash()) }
