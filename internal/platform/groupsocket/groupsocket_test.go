package groupsocket

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/platform/unixsocket"
)

func folder(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func listen(t *testing.T, o Options) (net.Listener, func() error) {
	t.Helper()
	l, remove, err := o.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l, remove
}

func TestListen(t *testing.T) {
	path := filepath.Join(folder(t), "new", "publisher.sock")
	l, remove := listen(t, Options{Path: path})
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Perm() != 0o660 {
		t.Fatalf("got %v, %v, want mode 0660", info, err)
	}
	if _, _, err := (Options{Path: path}).Listen(t.Context()); !errors.Is(err, errServed) {
		t.Errorf("a second process: got %v, want %v", err, errServed)
	}
	conn, err := Dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	served, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer served.Close()
	if runtime.GOOS == "linux" {
		if uid, err := PeerUID(served); err != nil || uid != os.Getuid() {
			t.Errorf("user: got %d, %v, want %d", uid, err, os.Getuid())
		}
	}
	if err := remove(); err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A killed process leaves its socket, which the next process replaces. The first process must not
// remove the socket of the second.
func TestListen_Stale(t *testing.T) {
	o := Options{Path: filepath.Join(folder(t), "s.sock"), Mode: "0600"}
	l, remove := listen(t, o)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	listen(t, o)
	if err := remove(); err != nil {
		t.Error(err)
	}
	conn, err := Dial(t.Context(), o.Path)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
}

// Listen and Dial refuse everything that another user could have placed.
//
//guarantee:socket-safe
func TestListen_Unsafe(t *testing.T) {
	for _, tt := range []struct {
		name    string
		prepare func(dir, path string) error
		want    error
	}{
		{"File", func(_, path string) error { return os.WriteFile(path, nil, 0o600) }, unixsocket.ErrOther},
		{"Link", func(_, path string) error { return os.Symlink("/etc/passwd", path) }, unixsocket.ErrOther},
		{"LinkToNothing", func(_, path string) error { return os.Symlink("elsewhere", path) }, unixsocket.ErrOther},
		{"Folder", func(_, path string) error { return os.Mkdir(path, 0o700) }, unixsocket.ErrOther},
		{"FolderOfEverybody", func(dir, _ string) error { return os.Chmod(dir, 0o1777) }, unixsocket.ErrShared},
		{"FolderOfAGroup", func(dir, _ string) error { return os.Chmod(dir, 0o770) }, unixsocket.ErrShared},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := folder(t)
			path := filepath.Join(dir, "s.sock")
			if err := tt.prepare(dir, path); err != nil {
				t.Fatal(err)
			}
			if _, _, err := (Options{Path: path}).Listen(t.Context()); !errors.Is(err, tt.want) {
				t.Errorf("listen: got %v, want %v", err, tt.want)
			}
			if _, err := os.Lstat(path); err == nil {
				if _, err := Dial(t.Context(), path); !errors.Is(err, tt.want) {
					t.Errorf("dial: got %v, want %v", err, tt.want)
				}
			}
		})
	}
}

// A client does not connect to a socket that a third user has placed.
//
//guarantee:socket-safe
func TestDial_Foreign(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root gives files to other users")
	}
	dir := folder(t)
	path := filepath.Join(dir, "s.sock")
	listen(t, Options{Path: path})
	if err := errors.Join(os.Chown(dir, 1001, -1), os.Chown(path, 1002, -1)); err != nil {
		t.Fatal(err)
	}
	if _, err := Dial(context.Background(), path); !errors.Is(err, unixsocket.ErrForeign) {
		t.Errorf("got %v, want %v", err, unixsocket.ErrForeign)
	}
}

func TestValidate(t *testing.T) {
	for _, tt := range []struct {
		options Options
		want    string // empty if valid
	}{
		{Options{}, ""},
		{Options{Path: "/run/p.sock"}, ""},
		{Options{Path: "/run/p.sock", Group: "0", Mode: "0666"}, ""},
		{Options{Path: "p.sock"}, "want a full path"},
		{Options{Path: "/run/../p.sock"}, "want a full path"},
		{Options{Path: "/" + strings.Repeat("x", 90)}, "more than"},
		{Options{Path: "/run/p.sock", Mode: "0777"}, "0600 to 0666"},
		{Options{Path: "/run/p.sock", Mode: "0060"}, "0600 to 0666"},
		{Options{Path: "/run/p.sock", Mode: "rw"}, "0600 to 0666"},
		{Options{Path: "/run/p.sock", Group: "no such group"}, "no such group"},
		{Options{Group: "0"}, "needs --socket"},
	} {
		err := tt.options.Validate()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: got %v, want %q", tt.options, err, tt.want)
		}
	}
}

// A restart gives the socket its mode again, whatever the one of an ended process has. It replaces
// nothing that another process serves.
//
//guarantee:socket-safe
func TestListen_Restart(t *testing.T) {
	for _, mode := range []os.FileMode{0o666, 0o600, 0o777} {
		o := Options{Path: filepath.Join(folder(t), "s.sock")}
		l, _ := listen(t, o)
		if err := errors.Join(l.Close(), os.Chmod(o.Path, mode)); err != nil {
			t.Fatal(err)
		}
		if os.Geteuid() == 0 {
			if err := os.Chown(o.Path, 1002, 1002); err != nil {
				t.Fatal(err)
			}
		}
		listen(t, o)
		info, err := os.Lstat(o.Path)
		if err != nil || info.Mode().Perm() != 0o660 || unixsocket.Owner(info) != os.Geteuid() {
			t.Errorf("after mode %v: got %v of user %d, %v", mode, info.Mode(), unixsocket.Owner(info), err)
		}
	}
	path := filepath.Join(folder(t), "d.sock")
	other, err := net.ListenPacket("unixgram", path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, _, err := (Options{Path: path}).Listen(t.Context()); err == nil {
		t.Error("replaced the socket of another service")
	}
}
