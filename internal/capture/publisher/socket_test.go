package publisher

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/hookclient"
	"github.com/hooktrail/hooktrail/internal/capture/hooksocket"
)

func startHooks(t *testing.T, dir string) (stop func() error) {
	t.Helper()
	s, err := NewHookService(nil, &recorder{}, Options{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return s.Start(t.Context())
}

func reachable(t *testing.T, dir string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	conn, err := hookclient.Dial(ctx, dir)
	if err == nil {
		err = conn.Close()
	}
	return err
}

// Only the current user may connect to the socket. A publisher replaces the socket of a
// killed one, and removes its own unless another publisher has replaced it.
func TestSocket(t *testing.T) {
	dir := t.TempDir()
	stale, err := net.Listen("unix", filepath.Join(dir, hooksocket.SocketName))
	if err != nil {
		t.Fatal(err)
	}
	if unix, ok := stale.(*net.UnixListener); ok {
		unix.SetUnlinkOnClose(false)
	}
	if err := stale.Close(); err != nil {
		t.Fatal(err)
	}
	stop := startHooks(t, dir)
	if err := reachable(t, dir); err != nil {
		t.Error(err)
	}
	info, err := os.Lstat(filepath.Join(dir, hooksocket.SocketName))
	if err != nil || info.Mode().Perm() != 0o600 || info.Mode()&os.ModeSocket == 0 {
		t.Errorf("got %v, %v", info, err)
	}
	another := startHooks(t, dir)
	if err := stop(); err != nil {
		t.Error(err)
	}
	if err := reachable(t, dir); err != nil {
		t.Errorf("the other's socket is gone: %v", err)
	}
	if err := another(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 || left[0].Name() != "hook-ids.key" {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// The path of a data directory may be longer than the longest path of a socket.
func TestSocket_LongPath(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("long paths of sockets are Linux's")
	}
	dir := filepath.Join(t.TempDir(), strings.Repeat("deep/", 30))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	stop := startHooks(t, dir)
	if err := reachable(t, dir); err != nil {
		t.Error(err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if err := reachable(t, dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want that it is gone", err)
	}
}

func TestSocket_NoPlace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	writeText(t, file, "")
	if err := startHooks(t, filepath.Join(file, "data"))(); err != nil {
		t.Error(err)
	}
}
