// Package groupsocket provides a Unix socket to which the users of a group can connect. It can name
// the user at the other end of a connection.
//
// [Options.Listen] and [Dial] refuse a folder to which other users than its owner may write,
// because these users could replace the socket. They also refuse a socket path that is a link.
package groupsocket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/hooktrail/hooktrail/internal/platform/unixsocket"
)

// DefaultMode lets the owner and the group connect to the socket.
const DefaultMode = "0660"

// maxPath is the maximum length of a socket path. Every system accepts 103 bytes, but Listen needs
// some of them for a temporary folder.
const maxPath = 103 - len("/.socket-0123456789")

// Options describes a socket.
type Options struct {
	Path  string // empty means no socket
	Group string // name or number. Empty means the group of the process
	Mode  string // octal. Empty means [DefaultMode]
}

// Validate reports the first invalid option.
func (o Options) Validate() error {
	if o.Path == "" {
		if o.Group != "" {
			return errors.New("--socket-group: it needs --socket")
		}
		return nil
	}
	if !filepath.IsAbs(o.Path) || filepath.Clean(o.Path) != o.Path {
		return fmt.Errorf("--socket %q: want a full path such as /run/hooktrail/publisher.sock", o.Path)
	}
	if len(o.Path) > maxPath {
		return fmt.Errorf("--socket: the path has %d bytes, more than %d", len(o.Path), maxPath)
	}
	if _, err := o.mode(); err != nil {
		return err
	}
	_, err := o.group()
	return err
}

func (o Options) mode() (fs.FileMode, error) {
	text := o.Mode
	if text == "" {
		text = DefaultMode
	}
	n, err := strconv.ParseUint(text, 8, 32)
	if err != nil || n&^0o666 != 0 || n&0o600 != 0o600 {
		return 0, fmt.Errorf("--socket-mode %q: want an octal number from 0600 to 0666", text)
	}
	return fs.FileMode(n), nil
}

func (o Options) group() (int, error) {
	if o.Group == "" {
		return -1, nil
	}
	if g, err := user.LookupGroup(o.Group); err == nil {
		return strconv.Atoi(g.Gid)
	}
	n, err := strconv.Atoi(o.Group)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("--socket-group %q: there is no such group", o.Group)
	}
	return n, nil
}

// Listen creates the socket, and its folder if necessary. It replaces the socket of a process that
// has ended. remove deletes the socket.
func (o Options) Listen(ctx context.Context) (l net.Listener, remove func() error, err error) {
	if err := o.Validate(); err != nil {
		return nil, nil, err
	}
	if l, err = o.listen(ctx); err != nil {
		return nil, nil, fmt.Errorf("--socket %s: %w", o.Path, err)
	}
	mine, err := os.Lstat(o.Path)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("--socket: %w", err), l.Close())
	}
	return l, func() error {
		if there, err := os.Lstat(o.Path); err != nil || !os.SameFile(there, mine) {
			return nil //nolint:nilerr // it is gone, or belongs to another process
		}
		return os.Remove(o.Path)
	}, nil
}

func (o Options) listen(ctx context.Context) (net.Listener, error) {
	gid, err := o.group()
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(o.Path)
	if err := makeFolder(dir, gid); err != nil {
		return nil, err
	}
	if err := checkFolder(dir); err != nil {
		return nil, err
	}
	if err := checkStale(ctx, o.Path); err != nil {
		return nil, err
	}
	return o.bind(ctx, dir, gid)
}

// bind creates the socket in a private folder, so that no client connects before group and mode are
// set.
func (o Options) bind(ctx context.Context, dir string, gid int) (_ net.Listener, err error) {
	mode, err := o.mode()
	if err != nil {
		return nil, err
	}
	private, err := os.MkdirTemp(dir, ".socket-") // mode 0700
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(private)) }()
	path := filepath.Join(private, "s")
	l, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if unix, ok := l.(*net.UnixListener); ok {
		unix.SetUnlinkOnClose(false)
	}
	if gid >= 0 {
		if err = os.Chown(path, -1, gid); err != nil {
			err = fmt.Errorf("give it to the group %s: %w; only a member of the group or root can", o.Group, err)
		}
	}
	if err == nil {
		err = os.Chmod(path, mode)
	}
	if err == nil {
		err = os.Rename(path, o.Path)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func makeFolder(dir string, gid int) error {
	err := os.Mkdir(dir, 0o750)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil && gid >= 0 {
		err = os.Chown(dir, -1, gid)
	}
	return err
}

var errServed = errors.New("another process serves it")

func checkFolder(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder", dir)
	case info.Mode().Perm()&0o022 != 0:
		return unixsocket.ErrShared
	}
	if owner := unixsocket.Owner(info); owner != 0 && owner != os.Geteuid() && os.Geteuid() != 0 {
		return fmt.Errorf("folder %s belongs to another user", dir)
	}
	return nil
}

func checkStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode()&fs.ModeSocket == 0:
		return unixsocket.ErrOther
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err == nil {
		_ = conn.Close()
		return errServed
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return err
	}
	return nil
}

// Dial connects to the socket at path, unless another user could have created it.
func Dial(ctx context.Context, path string) (net.Conn, error) {
	if err := unixsocket.CheckShared(path); err != nil {
		return nil, err
	}
	return new(net.Dialer).DialContext(ctx, "unix", path)
}
