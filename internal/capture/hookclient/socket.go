package hookclient

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

// SocketName is the socket of a publisher in its data directory.
const SocketName = "publisher.sock"

// maxSocketPath is how long the path of a socket may be on every system.
const maxSocketPath = 103

// SocketPath returns a path by which a file in dir can be a socket: its own, or
// one by way of the open folder where that is too long. done closes the folder.
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

// errForeign is why a socket is not asked.
var errForeign = errors.New("the socket is another user's, who would read what the agent does")

// ownedBy tells whether a file is of a user, or of one who may do everything.
func ownedBy(info fs.FileInfo, user int) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !ok || user == 0 || stat.Uid == 0 || int64(stat.Uid) == int64(user)
}

// Dial connects to the publisher that serves a data directory. In one that
// others may write to, the socket may be theirs: that is refused.
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
