package auditor

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/nats-io/nkeys"
	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// EndorseFor endorses the issuer key of another data directory, and creates this key if it is
// missing. The directory may belong to another user. EndorseFor therefore does not follow links
// out of the directory, and as root gives new files to the directory's owner.
func EndorseFor(dataDir, tenant, public string, signer note.Signer) (err error) {
	k, err := openOtherKeys(dataDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.Close()) }()
	name := broker.IssuerFile
	issuer, err := k.issuer(name)
	if err != nil {
		return fmt.Errorf("issuer %s: %w", filepath.Join(KeyDir(dataDir), name), err)
	}
	name += publish.EndorsedEnding
	had, err := k.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("endorsement: %w", err)
	}
	signed, err := endorsement(string(had), issuer, tenant, public, signer)
	if err != nil {
		return err
	}
	if err := k.write(name, []byte(signed), k.Rename); err != nil {
		return fmt.Errorf("endorsement: %w", err)
	}
	if _, err := k.Lstat(filepath.Base(writer.KeyFile(KeyDir(dataDir)))); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := k.write(ledger.VerifierFile, []byte(public+"\n"), k.Rename); err != nil {
		return fmt.Errorf("share the verifier key: %w", err)
	}
	return nil
}

type otherKeys struct {
	*os.Root
	owner *syscall.Stat_t // nil unless root must give the new files to the owner
}

func openOtherKeys(dataDir string) (_ *otherKeys, err error) {
	root, err := os.OpenRoot(dataDir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	k := new(otherKeys)
	info, err := root.Stat(".")
	if err != nil {
		return nil, err
	}
	if os.Geteuid() == 0 {
		k.owner, _ = info.Sys().(*syscall.Stat_t)
	}
	name := filepath.Base(KeyDir(dataDir))
	made := root.Mkdir(name, 0o700)
	if made != nil && !errors.Is(made, fs.ErrExist) {
		return nil, made
	}
	if info, err = root.Lstat(name); err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is a link or a file, and must be a folder", KeyDir(dataDir))
	}
	if k.Root, err = root.OpenRoot(name); err != nil || made != nil {
		return k, err
	}
	self, err := k.Open(".")
	if err != nil {
		return nil, errors.Join(err, k.Close())
	}
	if err = errors.Join(k.give(self), self.Close()); err != nil {
		return nil, errors.Join(err, k.Close())
	}
	return k, nil
}

func (k *otherKeys) give(f *os.File) error {
	if k.owner == nil {
		return nil
	}
	return f.Chown(int(k.owner.Uid), int(k.owner.Gid))
}

func (k *otherKeys) issuer(name string) (public string, err error) {
	text, err := k.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		if text, err = newIssuer(); err != nil {
			return "", err
		}
		// A service may create the key at the same time. k.Link then fails and keeps the existing
		// file.
		if err = k.write(name, text, k.Link); err == nil || errors.Is(err, fs.ErrExist) {
			text, err = k.ReadFile(name)
		}
	}
	if err != nil {
		return "", err
	}
	if err := k.checkOwner(name); err != nil {
		return "", err
	}
	pair, err := nkeys.ParseDecoratedUserNKey(text)
	if err != nil {
		return "", fmt.Errorf("it has neither the seed of a user nor credentials: %w", err)
	}
	return pair.PublicKey()
}

func (k *otherKeys) checkOwner(name string) error {
	info, err := k.Lstat(name)
	if err != nil || k.owner == nil {
		return err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Uid != k.owner.Uid {
		return fmt.Errorf("it belongs to user %d and its data directory to user %d: change its owner with chown", stat.Uid, k.owner.Uid)
	}
	return nil
}

func newIssuer() (seed []byte, err error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return nil, fmt.Errorf("create a key: %w", err)
	}
	return pair.Seed()
}

func (k *otherKeys) write(name string, data []byte, finish func(from, to string) error) error {
	tmp := ".new-" + rand.Text()
	f, err := k.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, k.give(f), f.Sync(), f.Close()); err == nil {
		err = finish(tmp, name)
	}
	if removed := k.Remove(tmp); !errors.Is(removed, fs.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	return err
}
