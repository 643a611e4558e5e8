package hooksocket

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hooktrail/hooktrail/internal/platform/unixsocket"
)

// SocketName is the name of a publisher's Unix socket in its data directory.
const SocketName = "publisher.sock"

var errForeign = errors.New("the socket is another user's, who would read what the agent does")

func ownedBy(info fs.FileInfo, user int) bool {
	owner := unixsocket.Owner(info)
	return owner <= 0 || user == 0 || owner == user
}

// Find returns the path of a publisher's socket, which is valid until done is called. It refuses a
// socket of another user.
func Find(dataDir string) (path string, done func(), err error) {
	info, err := os.Lstat(filepath.Join(dataDir, SocketName))
	if err != nil {
		return "", nil, err
	}
	if !ownedBy(info, os.Geteuid()) {
		return "", nil, errForeign
	}
	return unixsocket.Path(dataDir, SocketName)
}
