package outbox

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/disk"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/segment"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/state"
)

// identity is the content of "outbox.json". The records are in a folder named after Producer.
type identity struct {
	Producer string `json:"producer"`
	Boot     string `json:"boot,omitempty"` // boot id of the machine when last opened
	Open     bool   `json:"open"`           // the outbox is in use or was not closed cleanly
	// Suspect means that the stream may have events that the outbox lacks. Going on with this
	// producer id could then use a number twice.
	Suspect bool `json:"suspect,omitempty"`
	// Key verifies the manifests of Producer. Unsigned means that the first manifests of Producer
	// may have no signature.
	Key      string `json:"key,omitempty"`
	Unsigned bool   `json:"unsigned,omitempty"`
	OldKey   string `json:"old_key,omitempty"` // the key before the last key change

	signer signer  // key of the process that forwards
	next   *signer // the next key, nil if the key is not being changed
}

func (id *identity) openKey(opts Options) (err error) {
	if id.signer, err = openSigner(opts, keyName); err != nil {
		return err
	}
	if err := id.openNext(opts); err != nil {
		return err
	}
	if id.Key == "" {
		id.Key = id.signer.public
	}
	id.Suspect = id.Suspect || id.Key != id.signer.public // the key file was lost
	return nil
}

// The random part keeps clients from guessing the id and sending events in its name.
func newProducerID(name string) string {
	var b [10]byte
	_, _ = rand.Read(b[:]) // never fails
	return name + "-" + hex.EncodeToString(b[:])
}

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
	_ = opts.reserve().Refill() // on a full disk, the outbox has no reserve
	if err := id.openKey(opts); err != nil {
		return id, err
	}
	return id, id.save(opts.Dir)
}

func readIdentity(dir string) (id identity, err error) {
	data, err := os.ReadFile(identityFile(dir))
	if err != nil {
		return id, fmt.Errorf("read identity: %w", err)
	}
	if err := json.Unmarshal(data, &id); err != nil || id.Producer == "" {
		return id, fmt.Errorf("read identity: %s is damaged; remove it to send the waiting events under a new producer id", identityFile(dir))
	}
	if err := findRecords(id.dir(dir)); err != nil {
		return id, fmt.Errorf("read identity: records of producer %s: %w", id.Producer, err)
	}
	return id, nil
}

// Even an outbox without records has a file of losses.
func findRecords(dir string) error {
	_, missing := os.Stat(filepath.Join(dir, state.LossesName))
	if !errors.Is(missing, os.ErrNotExist) {
		return missing
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(entries, func(e os.DirEntry) bool { return strings.HasSuffix(e.Name(), segment.Suffix) }) {
		return nil
	}
	return missing
}

// newIdentity keeps the producer id of existing records, because only "outbox.json" may have been
// lost.
func newIdentity(opts Options) (id identity, err error) {
	folders, err := recordFolders(opts.Dir)
	switch {
	case err != nil:
		return id, err
	case len(folders) == 0:
		id.Producer = newProducerID(opts.Name)
		return id, nil
	case len(folders) > 1:
		return id, fmt.Errorf("find identity: %s has the records of %d producers; keep only the latest folder there", opts.Dir, len(folders))
	}
	id.Suspect = true
	if id.Producer, err = subjects.ParseToken(filepath.Base(folders[0])); err != nil {
		return id, fmt.Errorf("find identity: folder %s: %w", folders[0], err)
	}
	return id, nil
}

func openIdentity(opts Options) (identity, error) {
	id, err := readIdentity(opts.Dir)
	if errors.Is(err, os.ErrNotExist) {
		id, err = newIdentity(opts)
	} else {
		id.Unsigned = id.Unsigned || id.Key == ""
	}
	if err == nil {
		err = id.openKey(opts)
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
	if errors.Is(err, disk.ErrNoSpace) {
		err = opts.reserve().Use(func() error { return id.save(opts.Dir) })
	}
	if err != nil {
		return id, err
	}
	return id, id.removeOthers(opts.Dir)
}

func (id identity) removeOthers(outbox string) error {
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

func recordFolders(outbox string) (folders []string, err error) {
	entries, err := os.ReadDir(outbox)
	if err != nil {
		return nil, fmt.Errorf("list outbox: %w", err)
	}
	for _, entry := range entries {
		dir := filepath.Join(outbox, entry.Name())
		if _, err := os.Stat(filepath.Join(dir, state.LossesName)); err == nil {
			folders = append(folders, dir)
		}
	}
	return folders, nil
}

func identityFile(dir string) string { return filepath.Join(dir, "outbox.json") }

func (id identity) dir(outbox string) string {
	name, err := subjects.FileName(id.Producer)
	if err != nil {
		name = "producer" // cannot happen, because the name in the id is valid
	}
	return filepath.Join(outbox, name)
}

func (id identity) save(dir string) error {
	data, err := json.Marshal(id)
	if err != nil {
		return fmt.Errorf("encode identity: %w", err)
	}
	if err := disk.Replace(identityFile(dir), append(data, '\n')); err != nil {
		return fmt.Errorf("write identity: %w", disk.MarkNoSpace(err))
	}
	return nil
}
