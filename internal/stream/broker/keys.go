package broker

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/nkeys"

	"github.com/hooktrail/hooktrail/internal/subjects"
)

const keyEnding = ".nk"

func keyDir(dir string) string { return filepath.Join(dir, "keys") }

func keyName(space subjects.Space, role subjects.Role, tenant string) (string, error) {
	if !role.Consumes() {
		tenant = ""
	}
	return space.Durable(string(role), tenant)
}

func roleOf(name string) (role subjects.Role, durable string, ok bool) {
	base, _, _ := strings.Cut(name, "==")
	for _, r := range subjects.Roles() {
		if string(r) == base {
			return r, name, true
		}
	}
	return "", "", false
}

func loadKey(dir, name string) (string, error) {
	path := filepath.Join(keyDir(dir), name+keyEnding)
	switch _, err := os.Stat(path); {
	case err == nil:
		return path, nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("key of %s: %w", name, err)
	}
	if err := os.MkdirAll(keyDir(dir), 0o700); err != nil {
		return "", fmt.Errorf("folder of keys: %w", err)
	}
	_, seed, err := newKey()
	if err != nil {
		return "", err
	}
	tmp, err := os.CreateTemp(keyDir(dir), "new.*") // mode 0600
	if err != nil {
		return "", fmt.Errorf("key of %s: %w", name, err)
	}
	_, err = tmp.Write(seed)
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Link(tmp.Name(), path)
	}
	if errors.Is(err, fs.ErrExist) {
		err = nil // another process created it first
	}
	if err = errors.Join(err, os.Remove(tmp.Name())); err != nil {
		return "", fmt.Errorf("key of %s: %w", name, err)
	}
	return path, nil
}

func newKey() (public string, seed []byte, err error) {
	pair, err := nkeys.CreateUser()
	if err == nil {
		public, err = pair.PublicKey()
	}
	if err == nil {
		seed, err = pair.Seed()
	}
	if err != nil {
		return "", nil, fmt.Errorf("create a key: %w", err)
	}
	return public, seed, nil
}

func publicKey(path string) (string, error) {
	seed, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	pair, err := nkeys.ParseDecoratedUserNKey(seed)
	if err != nil {
		return "", fmt.Errorf("key %s: %w", path, err)
	}
	return pair.PublicKey()
}

func keyOwner(dir, public string) (name string, ok bool) {
	files, err := os.ReadDir(keyDir(dir))
	if err != nil {
		return "", false
	}
	for _, file := range files {
		name, isKey := strings.CutSuffix(file.Name(), keyEnding)
		if !isKey {
			continue
		}
		if found, err := publicKey(filepath.Join(keyDir(dir), file.Name())); err == nil && found == public {
			return name, true
		}
	}
	return "", false
}
