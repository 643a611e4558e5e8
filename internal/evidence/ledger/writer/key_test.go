package writer_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
)

func TestOpenKey_MadeOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "keys")
	var keys [8]*writer.Key
	var wg sync.WaitGroup
	for i := range keys {
		wg.Go(func() {
			k, err := writer.OpenKey(dir)
			if err != nil {
				t.Error(err)
			}
			keys[i] = k
		})
	}
	wg.Wait()
	made := 0
	for _, k := range keys {
		if k.Made() {
			made++
		}
		if k.Public() != keys[0].Public() {
			t.Errorf("got %s and %s", k.Public(), keys[0].Public())
		}
	}
	if made != 1 {
		t.Errorf("made %d times, want once", made)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 2 {
		t.Errorf("got %v, %v, want two files", files, err)
	}
	info, err := os.Stat(filepath.Join(dir, "ledger.key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode: got %v, %v, want 0600", info.Mode(), err)
	}
	// The public half is restored from the private one.
	if err := os.WriteFile(filepath.Join(dir, "ledger.pub"), []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := writer.OpenKey(dir); err != nil {
		t.Fatal(err)
	}
	v, text, err := ledger.ReadVerifier(dir)
	if err != nil || text != keys[0].Public() || ledger.KeyID(v) != keys[0].ID() {
		t.Errorf("got %s, %v", text, err)
	}
}
