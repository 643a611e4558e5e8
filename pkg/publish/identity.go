package publish

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hooktrail/hooktrail/internal/subjects"
)

// identity is who an outbox is, in the file "outbox.json". The records of each
// producer id lie in a folder of their own, so that taking a new id is one
// replacement of this file.
type identity struct {
	Producer string `json:"producer"`
	Boot     string `json:"boot,omitempty"` // of the machine, when last opened
	Open     bool   `json:"open"`           // not closed, or killed before
	// Suspect says that the machine lost power while the outbox was open:
	// numbers that the stream knows may stand for events that the disk lost, so
	// what waits must go out under a new id.
	Suspect bool `json:"suspect,omitempty"`
}

func newProducerID(name string) string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return name + "-" + hex.EncodeToString(b[:])
}

// ensureIdentity reads the identity of an outbox, or makes one.
func ensureIdentity(opts Options) (identity, error) {
	id, err := readIdentity(opts.Dir)
	if !errors.Is(err, os.ErrNotExist) {
		return id, err
	}
	if id, err = newIdentity(opts); err != nil {
		return id, err
	}
	if err := os.MkdirAll(id.dir(opts.Dir), 0o700); err != nil {
		return id, fmt.Errorf("make outbox: %w", err)
	}
	openSpare(opts.Dir) // who forwards needs it on a full disk
	return id, id.save(opts.Dir)
}

func readIdentity(dir string) (id identity, err error) {
	data, err := os.ReadFile(identityFile(dir))
	if err != nil {
		return id, fmt.Errorf("read identity: %w", err)
	}
	if err := json.Unmarshal(data, &id); err != nil || id.Producer == "" {
		return id, fmt.Errorf("read identity: %s is damaged; remove it, and what waits goes out under a new producer id", identityFile(dir))
	}
	return id, nil
}

// newIdentity returns the identity of an outbox that has none: a new one, or that
// of the records whose identity was lost, which go out under a new producer id.
func newIdentity(opts Options) (id identity, err error) {
	folders, err := recordFolders(opts.Dir)
	switch {
	case err != nil:
		return id, err
	case len(folders) == 0:
		id.Producer = newProducerID(opts.Name)
		return id, nil
	case len(folders) > 1:
		return id, fmt.Errorf("find identity: %s has the records of %d producers: move away all but the latest", opts.Dir, len(folders))
	}
	id.Suspect = true
	if id.Producer, err = subjects.ParseToken(filepath.Base(folders[0])); err != nil {
		return id, fmt.Errorf("find identity: folder %s: %w", folders[0], err)
	}
	return id, nil
}

// openIdentity reads the identity of an outbox, or makes one, and notes that it
// is open.
func openIdentity(opts Options) (identity, error) {
	id, err := readIdentity(opts.Dir)
	if errors.Is(err, os.ErrNotExist) {
		id, err = newIdentity(opts)
	}
	if err != nil {
		return id, err
	}
	boot := opts.bootID()
	id.Suspect = id.Suspect || id.Open && id.Boot != boot
	id.Open, id.Boot = true, boot
	if err := os.MkdirAll(id.dir(opts.Dir), 0o700); err != nil {
		return id, fmt.Errorf("make outbox: %w", err)
	}
	err = id.save(opts.Dir)
	if errors.Is(err, errNoRoom) {
		err = spare{opts.Dir}.use(func() error { return id.save(opts.Dir) })
	}
	if err != nil {
		return id, err
	}
	return id, id.sweep(opts.Dir)
}

// sweep removes the records of other producer ids: what a crash left while the
// outbox took a new one.
func (id identity) sweep(outbox string) error {
	folders, err := recordFolders(outbox)
	if err != nil {
		return err
	}
	for _, dir := range folders {
		if dir == id.dir(outbox) {
			continue
		}
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("remove old records: %w", err)
		}
	}
	return nil
}

// recordFolders returns the folders of producer ids in an outbox.
func recordFolders(outbox string) (folders []string, err error) {
	entries, err := os.ReadDir(outbox)
	if err != nil {
		return nil, fmt.Errorf("list outbox: %w", err)
	}
	for _, entry := range entries {
		dir := filepath.Join(outbox, entry.Name())
		if _, err := os.Stat(filepath.Join(dir, lossesName)); err == nil {
			folders = append(folders, dir)
		}
	}
	return folders, nil
}

func identityFile(dir string) string { return filepath.Join(dir, "outbox.json") }

// dir returns where the records of the producer are.
func (id identity) dir(outbox string) string {
	name, err := subjects.FileName(id.Producer)
	if err != nil {
		name = "producer" // not reached: ids are made from a checked name
	}
	return filepath.Join(outbox, name)
}

func (id identity) save(dir string) error {
	data, err := json.Marshal(id)
	if err != nil {
		return fmt.Errorf("encode identity: %w", err)
	}
	if err := replaceFile(identityFile(dir), append(data, '\n')); err != nil {
		return fmt.Errorf("write identity: %w", asNoRoom(err))
	}
	return nil
}
