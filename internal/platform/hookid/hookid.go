// Package hookid stores the secret of a data directory. The ids of hook events are derived from
// this secret.
package hookid

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const fileName = "hook-ids.key"

const unkeyed = "unkeyed\n"

const keyBytes = 32

// Key returns the secret of a data directory, from which the ids of hook events are derived. It
// creates the secret if it is missing. Without a secret, a client could predict the id of an event
// and send another event with this id first.
//
// Call Key before an outbox or a ledger is created. If an outbox or a ledger exists without a
// secret, it comes from an earlier version. Key then returns nil.
func Key(dataDir string) ([]byte, error) {
	path := filepath.Join(dataDir, fileName)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		data, err = makeKey(dataDir, path)
	}
	if err != nil {
		return nil, fmt.Errorf("key of hook ids: %w", err)
	}
	if string(data) == unkeyed {
		return nil, nil
	}
	key, err := hex.DecodeString(string(bytes.TrimSpace(data)))
	if err != nil || len(key) != keyBytes {
		return nil, fmt.Errorf("key of hook ids: %s is not a key", path)
	}
	return key, nil
}

func makeKey(dataDir, path string) (data []byte, err error) {
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return nil, err
	}
	if data, err = newKey(dataDir); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dataDir, "."+fileName+"-*") // with mode 0600
	if err != nil {
		return nil, err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Link(f.Name(), path) // does not replace a file
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		data, err = os.ReadFile(path)
	case errors.Is(err, errors.ErrUnsupported): // some file systems have no links
		return data, os.Rename(f.Name(), path)
	}
	return data, errors.Join(err, os.Remove(f.Name()))
}

func newKey(dataDir string) ([]byte, error) {
	for _, pattern := range []string{"outbox/shared", "outbox/serve", "outbox/import", "hook-spool", "ledger/*/ledger.db"} {
		found, err := filepath.Glob(filepath.Join(escapeGlob(dataDir), filepath.FromSlash(pattern)))
		if err != nil {
			return nil, err
		}
		if len(found) > 0 {
			return []byte(unkeyed), nil
		}
	}
	key := make([]byte, keyBytes)
	_, _ = rand.Read(key) // never fails
	return append(hex.AppendEncode(nil, key), '\n'), nil
}

func escapeGlob(path string) string {
	var b []byte
	for i := range len(path) {
		switch c := path[i]; c {
		case '*', '?', '[', '\\':
			b = append(b, '\\', c)
		default:
			b = append(b, c)
		}
	}
	return string(b)
}
