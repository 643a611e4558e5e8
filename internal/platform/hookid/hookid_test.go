package hookid

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

//guarantee:id-secret
func TestKey(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data [1]")
	keys := make([][]byte, 8)
	var wg sync.WaitGroup
	for i := range keys {
		wg.Go(func() {
			key, err := Key(dir)
			if err != nil {
				t.Error(err)
			}
			keys[i] = key
		})
	}
	wg.Wait()
	for _, key := range keys {
		if len(key) != keyBytes || !bytes.Equal(key, keys[0]) {
			t.Errorf("got %d bytes, want one key for all", len(key))
		}
	}
	info, err := os.Stat(filepath.Join(dir, fileName))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v, want mode 0600", info.Mode(), err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("left %v, %v", files, err)
	}
	other, err := Key(t.TempDir())
	if err != nil || bytes.Equal(other, keys[0]) {
		t.Errorf("another data directory has the same key, %v", err)
	}
}

// A data directory of an earlier version keeps deriving ids without a key.
//
//guarantee:id-secret
func TestKey_OlderDataDirectory(t *testing.T) {
	for _, name := range []string{"outbox/shared", "outbox/serve", "outbox/import", "hook-spool", "ledger/acme/ledger.db"} {
		dir := filepath.Join(t.TempDir(), "data [1]")
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if key, err := Key(dir); key != nil || err != nil {
				t.Errorf("%s: got %d bytes, %v", name, len(key), err)
			}
		}
	}
}

func TestKey_Damaged(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, fileName), []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if key, err := Key(dir); key != nil || err == nil {
		t.Errorf("got %d bytes and %v, want an error", len(key), err)
	}
}
