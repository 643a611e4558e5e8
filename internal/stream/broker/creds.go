package broker

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hooktrail/hooktrail/internal/platform/atomicfile"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

// Credential describes a file that [WriteCredentials] has written.
type Credential struct {
	User string `json:"user"` // "nats" for the server's accounts file
	File string `json:"file"`
}

const (
	serverFolder = "nats"
	accountsFile = "accounts.conf"
)

// WriteCredentials writes the accounts file for an external server and the seeds of its users. Each
// user gets a separate folder below dir, so that a service needs access to no other seed:
//
//	nats/accounts.conf   the accounts, see [WriteConf]
//	NAME/NAME.nk         the seed of the owner or of a role
//
// It creates missing keys in the data directory, so a second call writes the same files. Only the
// user of this process can read them.
func WriteCredentials(dataDir, dir string, space subjects.Space, tenant string) ([]Credential, error) {
	users, err := ConfUsers(dataDir, space, tenant)
	if err != nil {
		return nil, err
	}
	var conf bytes.Buffer
	if err := WriteConf(&conf, space, users); err != nil {
		return nil, err
	}
	var written []Credential
	for _, u := range users {
		if u.EngineOf != "" {
			continue
		}
		seed, err := os.ReadFile(filepath.Join(keyDir(filepath.Join(dataDir, "nats")), u.Durable+keyEnding))
		if err != nil {
			return written, fmt.Errorf("key of %s: %w", u.Durable, err)
		}
		c, err := writeCredential(dir, u.Durable, u.Durable+keyEnding, seed)
		if err != nil {
			return written, err
		}
		written = append(written, c)
	}
	// Write this file last, so that the server cannot start before all seeds exist.
	c, err := writeCredential(dir, serverFolder, accountsFile, conf.Bytes())
	if err != nil {
		return written, err
	}
	return append(written, c), nil
}

func writeCredential(dir, user, name string, data []byte) (Credential, error) {
	c := Credential{User: user, File: filepath.Join(dir, user, name)}
	folder := filepath.Dir(c.File)
	err := os.MkdirAll(folder, 0o700)
	if err == nil {
		err = checkPrivate(folder)
	}
	if err == nil {
		err = atomicfile.Write(c.File, data)
	}
	if err != nil {
		return c, fmt.Errorf("credentials of %s: %w", user, err)
	}
	return c, nil
}
