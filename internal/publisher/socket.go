package publisher

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// socketName is the socket of a publisher in its data directory.
const socketName = "publisher.sock"

// maxSocketPath is how long the path of a socket may be on every system.
const maxSocketPath = 103

// socketPath returns a path by which a file in dir can be a socket: its own, or
// one by way of the open folder where that is too long. done closes the folder.
func socketPath(dir, name string) (path string, done func(), err error) {
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

// dialSocket connects to the publisher that serves a data directory. In one that
// others may write to, the socket may be theirs: that is refused.
func dialSocket(ctx context.Context, dataDir string) (net.Conn, error) {
	info, err := os.Lstat(filepath.Join(dataDir, socketName))
	if err != nil {
		return nil, err
	}
	if !ownedBy(info, os.Geteuid()) {
		return nil, errForeign
	}
	path, done, err := socketPath(dataDir, socketName)
	if err != nil {
		return nil, err
	}
	defer done()
	return new(net.Dialer).DialContext(ctx, "unix", path)
}

// listenSocket listens on the socket of a data directory, which only this user
// may connect to. It takes the place of a socket that is there: whoever has the
// outbox of the directory open is its publisher. remove takes the socket away,
// unless another publisher has put its own there.
func listenSocket(ctx context.Context, dataDir string) (l net.Listener, remove func() error, err error) {
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("listen on the socket: %w", err)
	}
	// Nobody can connect before it has its name, and it has its permissions then.
	fresh := socketName + "." + strconv.Itoa(os.Getpid())
	if err := os.Remove(filepath.Join(dataDir, fresh)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("listen on the socket: %w", err)
	}
	path, done, err := socketPath(dataDir, fresh)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	l, err = new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return nil, nil, fmt.Errorf("listen on the socket: %w", err)
	}
	if unix, ok := l.(*net.UnixListener); ok {
		unix.SetUnlinkOnClose(false)
	}
	own, name := filepath.Join(dataDir, fresh), filepath.Join(dataDir, socketName)
	mine, err := os.Lstat(own)
	err = errors.Join(err, os.Chmod(own, 0o600), os.Rename(own, name))
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("listen on the socket: %w", err), l.Close())
	}
	return l, func() error {
		if there, err := os.Lstat(name); err != nil || !os.SameFile(there, mine) {
			return nil //nolint:nilerr // it is gone, or another's
		}
		return os.Remove(name)
	}, nil
}

// Plug has the socket of the data directory answered from now on until ctx ends
// or unplug is called, which returns when that is over and no hook is under way
// any more. unplug has to be called, after the last payload has come. Where there
// can be no socket, that is logged: hook commands then ask nobody here.
func (s *HookService) Plug(ctx context.Context) (unplug func() error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	if l, remove, err := listenSocket(ctx, s.opts.DataDir); err != nil {
		s.opts.Logger.WarnContext(ctx, "hook commands cannot ask this publisher", "error", err)
		ended <- nil
	} else {
		go func() { ended <- s.serveSocket(ctx, l, remove) }()
	}
	var sweeping sync.WaitGroup
	sweeping.Go(func() { sweepAlways(ctx, s.opts.DataDir, s.opts.Logger) })
	return func() error {
		cancel()
		sweeping.Wait()
		err := <-ended
		closing, stop := context.WithTimeout(context.WithoutCancel(ctx), lateHooks)
		defer stop()
		s.close(closing)
		if left := sweep(closing, s.opts.DataDir); left != nil {
			s.opts.Logger.WarnContext(ctx, "events of hooks stay in files", "error", left)
		}
		return err
	}
}

// serveSocket answers on l until ctx ends, and returns when nothing is under way
// and the socket is gone.
func (s *HookService) serveSocket(ctx context.Context, l net.Listener, remove func() error) error {
	mux := http.NewServeMux()
	mux.Handle("POST /v1/hooks/{tool}", s)
	srv := &http.Server{
		Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: time.Minute, IdleTimeout: time.Minute,
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
		ErrorLog:    slog.NewLogLogger(s.opts.Logger.Handler(), slog.LevelDebug),
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	select {
	case err := <-ended:
		return errors.Join(fmt.Errorf("serve the socket: %w", err), remove())
	case <-ctx.Done():
	}
	gone := remove()
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainRequests)
	defer cancel()
	if err := srv.Shutdown(drain); err != nil {
		s.opts.Logger.WarnContext(ctx, "hooks were cut off", "error", err)
		gone = errors.Join(gone, srv.Close())
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		gone = errors.Join(gone, err)
	}
	return gone
}
