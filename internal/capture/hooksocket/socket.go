package hooksocket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
)

// SocketName is the name of a publisher's socket in its data directory.
const SocketName = "publisher.sock"

// maxSocketPath is the longest socket path that every system accepts, in bytes.
const maxSocketPath = 103

// SocketPath returns the path of a socket in a folder, or a shorter one if it is too long. That one
// works until done is called.
func SocketPath(dir, name string) (path string, done func(), err error) {
	if path = filepath.Join(dir, name); len(path) <= maxSocketPath {
		return path, func() {}, nil
	}
	if runtime.GOOS != "linux" {
		return "", nil, fmt.Errorf("socket %s: the path is too long; use a shorter data directory", path)
	}
	folder, err := os.Open(dir)
	if err != nil {
		return "", nil, fmt.Errorf("socket: %w", err)
	}
	return "/proc/self/fd/" + strconv.Itoa(int(folder.Fd())) + "/" + name, func() { _ = folder.Close() }, nil
}

var errForeign = errors.New("the socket is another user's, who would read what the agent does")

// ownedBy reports whether the user or root owns the file. Root accepts every owner.
func ownedBy(info fs.FileInfo, user int) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !ok || user == 0 || stat.Uid == 0 || int64(stat.Uid) == int64(user)
}

// Dial connects to the publisher of a data directory. It refuses a socket of another user.
func Dial(ctx context.Context, dataDir string) (net.Conn, error) {
	info, err := os.Lstat(filepath.Join(dataDir, SocketName))
	if err != nil {
		return nil, err
	}
	if !ownedBy(info, os.Geteuid()) {
		return nil, errForeign
	}
	path, done, err := SocketPath(dataDir, SocketName)
	if err != nil {
		return nil, err
	}
	defer done()
	return new(net.Dialer).DialContext(ctx, "unix", path)
}
