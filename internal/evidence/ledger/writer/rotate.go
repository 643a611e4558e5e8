package writer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/atomicfile"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const (
	nextFile      = "next.key"
	retiredFolder = "retired"
)

// Rotation describes the replacement of the signing key in a folder with a new one.
type Rotation struct {
	Dir     string
	Tenants []string // tenants with a ledger
	// Newest contains the newest checkpoint of each ledger, by tenant.
	Newest map[string][]byte
	Order  ledger.Order // only By, Reason, Ticket and Time are set
	Signer Place        // a file by default
	// Destroy deletes the old private key. If Destroy is false, the old private key moves to the
	// folder "retired".
	Destroy bool

	step func(name string) error // for tests, called after each step
}

// Rotated describes a completed [Rotation].
type Rotated struct {
	From    string `json:"from"` // key ids
	To      string `json:"to"`
	Key     string `json:"key"`               // the new verifier key
	Ledgers int    `json:"ledgers"`           // ledgers that get an order
	Retired string `json:"retired,omitempty"` // old private half; empty if deleted
}

// Rotate replaces the signing key in the folder r.Dir. While Rotate runs, no other process may
// write to r.Dir or sign with the old key. After a crash, the caller can call Rotate again.
func Rotate(r Rotation) (done Rotated, err error) {
	if r.step == nil {
		r.step = func(string) error { return nil }
	}
	if !HasKey(r.Dir) {
		return done, fmt.Errorf("rotate key: no key in %s", r.Dir)
	}
	old, err := OpenKey(r.Dir)
	if err != nil {
		return done, fmt.Errorf("rotate key: %w", err)
	}
	if done, err = r.rotate(old); err != nil {
		return done, fmt.Errorf("rotate key: %w", err)
	}
	return done, nil
}

func (r Rotation) rotate(old *Key) (done Rotated, err error) {
	next, err := r.next(old)
	if err != nil {
		return done, err
	}
	c, err := r.change(old, next)
	if err != nil {
		return done, err
	}
	text, err := json.MarshalIndent(append(slices.Clip(old.changes), c), "", "  ")
	if err != nil {
		return done, err
	}
	if err := atomicfile.Write(filepath.Join(r.Dir, ledger.RotationsFile), text); err != nil {
		return done, err
	}
	if err := r.step("signed"); err != nil {
		return done, err
	}
	done = Rotated{From: old.ID(), To: next.ID(), Key: next.public, Ledgers: len(c.Orders)}
	done.Retired, err = r.install(old, next)
	return done, err
}

func (r Rotation) next(old *Key) (*Key, error) {
	next, path := &Key{}, filepath.Join(r.Dir, nextFile)
	if err := next.read(path); err == nil && (next.agent || r.Signer.Agent) {
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	if r.Signer.Agent {
		reference, err := r.Signer.reference()
		if err == nil {
			_, err = storeKey(path, reference)
		}
		if err != nil {
			return nil, err
		}
	} else if _, err := makeKey(path); err != nil {
		return nil, err
	}
	next = &Key{}
	if err := errors.Join(r.step("made"), next.read(path)); err != nil {
		return nil, err
	}
	if old.ring.Index(next.verifier, 0) >= 0 {
		return nil, fmt.Errorf("the ledgers have had the key %s before: add another one to the agent", next.ID())
	}
	return next, nil
}

func (r Rotation) install(old, next *Key) (retired string, err error) {
	current := filepath.Join(r.Dir, privateFile)
	if !r.Destroy && !old.agent {
		if retired, err = retire(current, old); err != nil {
			return "", err
		}
	}
	if err := r.step("retired"); err != nil {
		return retired, err
	}
	if err := os.Rename(filepath.Join(r.Dir, nextFile), current); err != nil {
		return retired, err
	}
	if err := atomicfile.SyncDir(r.Dir); err != nil {
		return retired, err
	}
	if err := r.step("installed"); err != nil {
		return retired, err
	}
	return retired, next.writePublic(filepath.Join(r.Dir, ledger.VerifierFile))
}

func (r Rotation) change(old, next *Key) (ledger.KeyRotation, error) {
	o := r.Order
	c := ledger.KeyRotation{
		Old: old.public, New: next.public, By: o.By, Reason: o.Reason, Ticket: o.Ticket, Time: o.Time.UTC(),
		Orders: make(map[string]string), Checkpoints: make(map[string]string),
	}
	tenants := r.Tenants
	for _, before := range old.changes { // a backup may restore their ledgers later
		for tenant := range before.Orders {
			tenants = append(slices.Clip(tenants), tenant)
		}
	}
	for _, tenant := range tenants {
		if tenant == "" || c.Orders[tenant] != "" {
			continue
		}
		o.Tenant, o.Action, o.ID, o.Old, o.Key = tenant, events.AuditKey, events.NewID(), old.public, next.public
		signed, err := ledger.SignKeyChange(o, old.signer, next.signer)
		if err != nil {
			return c, fmt.Errorf("tenant %q: %w", tenant, err)
		}
		c.Orders[tenant] = string(signed)
		if again := countersign(r.Newest[tenant], tenant, old, next); again != nil {
			c.Checkpoints[tenant] = string(again)
		}
	}
	return c, nil
}

func countersign(newest []byte, tenant string, old, next *Key) []byte {
	newest = ledger.Countersigned(newest, tenant, old.changes)
	c, err := ledger.OpenCheckpoint(newest, note.VerifierList(old.verifier))
	if err != nil || c.Tenant != tenant {
		return nil
	}
	signed, err := c.Sign(next.signer)
	if err != nil {
		return nil
	}
	return signed
}

func retire(current string, old *Key) (path string, err error) {
	folder := filepath.Join(filepath.Dir(current), retiredFolder)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	path = filepath.Join(folder, fmt.Sprintf("%s.key", strings.TrimPrefix(old.ID(), keyName+"+")))
	if err := os.Link(current, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return path, errors.Join(atomicfile.SyncDir(folder), atomicfile.SyncDir(filepath.Dir(folder)))
}
