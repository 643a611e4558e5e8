package unixsocket

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
)

// maxPath is the longest socket path that every system accepts, in bytes.
const maxPath = 103

// Path returns the path of a Unix socket in the folder dir. If the path is too long for a socket,
// Path returns a shorter one, which is valid until done is called.
func Path(dir, name string) (path string, done func(), err error) {
	if path = filepath.Join(dir, name); len(path) <= maxPath {
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

// Errors of [CheckShared].
var (
	ErrShared  = errors.New("other users than the owner may write to its folder, and could replace the socket; run chmod go-w on the folder")
	ErrForeign = errors.New("it belongs to another user than its folder, who may have placed it")
	ErrOther   = errors.New("a file that is not a socket has this name")
)

// CheckShared returns an error if another user than root or the folder's owner can have created the
// socket.
func CheckShared(path string) error {
	folder, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return err
	}
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return err
	case info.Mode()&fs.ModeSocket == 0:
		return ErrOther
	case folder.Mode().Perm()&0o022 != 0:
		return ErrShared
	case Owner(info) != 0 && Owner(folder) != 0 && Owner(info) != Owner(folder):
		return ErrForeign
	}
	return nil
}

// Owner returns the number of the user who owns a file, or -1 if unknown.
func Owner(info fs.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return -1
}
