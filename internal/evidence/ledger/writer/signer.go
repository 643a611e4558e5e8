package writer

import (
	"fmt"
	"path/filepath"

	"golang.org/x/mod/sumdb/note"
)

// Signer returns the signing half of the key.
func (k *Key) Signer() note.Signer { return k.signer }

// KeyFile returns the file of the signing key in the folder of [OpenKey].
func KeyFile(dir string) string { return filepath.Join(dir, privateFile) }

// ReadSigner returns the signing key in a file, such as [KeyFile], and its verifier key. It
// creates nothing.
func ReadSigner(path string) (note.Signer, string, error) {
	k := &Key{}
	if err := k.read(path); err != nil {
		return nil, "", fmt.Errorf("signing key: %w", err)
	}
	return k.signer, k.public, nil
}
