package hooksocket

import (
	"os"
	"path/filepath"
	"testing"
)

// Dial refuses a socket that belongs to another user.
func TestSocket_Owner(t *testing.T) {
	file := filepath.Join(t.TempDir(), SocketName)
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 || os.Chown(file, 1001, 1001) != nil {
		t.Skip("only root gives files to others")
	}
	info, err := os.Lstat(file)
	if err != nil {
		t.Fatal(err)
	}
	for user, want := range map[int]bool{1001: true, 1002: false, 0: true} {
		if got := ownedBy(info, user); got != want {
			t.Errorf("user %d: got %v, want %v", user, got, want)
		}
	}
}
