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
	nextFile      = "next.key" // private half of a key that is not in place yet
	retiredFolder = "retired"  // private halves that were in place
)

// Rotation is how the key in a folder is replaced by a new one.
type Rotation struct {
	Dir     string       // of the keys
	Tenants []string     // whose ledgers there are
	Order   ledger.Order // who does it, why and when; the rest is filled in
	// Destroy removes the private half of the old key instead of keeping it aside:
	// nothing needs it any more.
	Destroy bool

	step func(name string) error // tests: called behind each step
}

// Rotated says what came of a [Rotation].
type Rotated struct {
	From    string `json:"from"` // ids, as reports name keys
	To      string `json:"to"`
	Key     string `json:"key"`               // the new verifier key
	Ledgers int    `json:"ledgers"`           // that get the order
	Retired string `json:"retired,omitempty"` // file with the old private half; empty: destroyed
}

// Rotate puts a new key in the place of the one in r.Dir. Nobody else may write to
// the folder or sign with the old key meanwhile.
//
// The orders that say so, one for each ledger that there is or was, are signed by
// both keys and on disk before the new key is in place; see [Key.Changes]. The old
// key is needed for nothing after that. A crash leaves the old key in place or the
// new one, whole, with all that belongs to it, and Rotate can be called again.
func Rotate(r Rotation) (done Rotated, err error) {
	if r.step == nil {
		r.step = func(string) error { return nil }
	}
	if !HasKey(r.Dir) {
		return done, fmt.Errorf("rotate key: there is none in %s", r.Dir)
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
	next, path := &Key{}, filepath.Join(r.Dir, nextFile)
	if _, err := makeKey(path); err != nil { // or take the one that a crash has left
		return done, err
	}
	if err := errors.Join(r.step("made"), next.read(path)); err != nil {
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
	if err := atomicfile.Write(filepath.Join(r.Dir, ledger.SuccessionFile), text); err != nil {
		return done, err
	}
	if err := r.step("signed"); err != nil {
		return done, err
	}
	done = Rotated{From: old.ID(), To: next.ID(), Key: next.public, Ledgers: len(c.Orders)}
	done.Retired, err = r.install(old, next)
	return done, err
}

// install puts next, whose private half waits beside that of old, in its place.
func (r Rotation) install(old, next *Key) (retired string, err error) {
	current := filepath.Join(r.Dir, privateFile)
	if !r.Destroy {
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

// change signs the orders that put next in the place of old.
func (r Rotation) change(old, next *Key) (ledger.Succession, error) {
	o := r.Order
	c := ledger.Succession{
		Old: old.public, New: next.public, By: o.By, Reason: o.Reason, Ticket: o.Ticket, Time: o.Time.UTC(), Orders: make(map[string]string),
	}
	tenants := r.Tenants
	for _, before := range old.changes { // a ledger that is away may come back
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
	}
	return c, nil
}

// retire keeps the private half of a key aside.
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

// read fills in the key from the file with its private half.
func (k *Key) read(path string) error {
	secret, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	private := strings.TrimSpace(string(secret))
	if k.signer, err = note.NewSigner(private); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if k.public, err = publicHalf(private); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if k.verifier, err = note.NewVerifier(k.public); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
