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
	"strconv"
	"sync"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/hookclient"
	"github.com/hooktrail/hooktrail/internal/capture/hooksocket"
	"github.com/hooktrail/hooktrail/internal/capture/intake"
	"github.com/hooktrail/hooktrail/internal/platform/unixsocket"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// listenSocket replaces an existing socket, so the caller must first exclude other publishers by
// opening the outbox.
func listenSocket(ctx context.Context, dataDir string) (l net.Listener, remove func() error, err error) {
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("listen on the socket: %w", err)
	}
	// Listen under a temporary name, so that no client can connect before the permissions are set.
	temporary := hooksocket.SocketName + "." + strconv.Itoa(os.Getpid())
	if err := os.Remove(filepath.Join(dataDir, temporary)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("listen on the socket: %w", err)
	}
	path, done, err := unixsocket.Path(dataDir, temporary)
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
	own, name := filepath.Join(dataDir, temporary), filepath.Join(dataDir, hooksocket.SocketName)
	mine, err := os.Lstat(own)
	err = errors.Join(err, os.Chmod(own, 0o600), os.Rename(own, name))
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("listen on the socket: %w", err), l.Close())
	}
	return l, func() error {
		if there, err := os.Lstat(name); err != nil || !os.SameFile(there, mine) {
			return nil //nolint:nilerr // it is gone, or belongs to another publisher
		}
		return os.Remove(name)
	}, nil
}

// Start serves the Unix socket of the data directory. It also moves events from spool files to the
// shared outbox. Both end when ctx ends or stop is called. If the socket is not available, Start
// only logs a warning.
func (s *HookService) Start(ctx context.Context) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	if l, remove, err := listenSocket(ctx, s.opts.DataDir); err != nil {
		s.opts.Logger.WarnContext(ctx, "socket for hook commands not available", "error", err)
		ended <- nil
	} else {
		go func() { ended <- s.serveSocket(ctx, l, remove) }()
	}
	var sweeping sync.WaitGroup
	sweeping.Go(func() { hookclient.SweepAlways(ctx, s.opts.DataDir, s.opts.Logger) })
	return func() error {
		cancel()
		sweeping.Wait()
		err := <-ended
		closing, stop := context.WithTimeout(context.WithoutCancel(ctx), backgroundTimeout)
		defer stop()
		s.close(closing)
		if left := hookclient.Sweep(closing, s.opts.DataDir); left != nil {
			s.opts.Logger.WarnContext(ctx, "hook events stay in spool files", "error", left)
		}
		return err
	}
}

func (s *HookService) serveSocket(ctx context.Context, l net.Listener, remove func() error) error {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/hooks/{tool}", s.serveOwn)
	srv := &http.Server{
		Handler: s.placedOwn(mux), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: time.Minute, IdleTimeout: time.Minute,
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
		ErrorLog:    slog.NewLogLogger(s.opts.Logger.Handler(), slog.LevelDebug),
	}
	intake.NewConns(0).Register(srv, UserOf)
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
		s.opts.Logger.WarnContext(ctx, "open hook requests cut off", "error", err)
		gone = errors.Join(gone, srv.Close())
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		gone = errors.Join(gone, err)
	}
	return gone
}

func (s *HookService) serveOwn(w http.ResponseWriter, r *http.Request) {
	if s.opts.Redactor == publish.NoRedaction && r.Header.Get("Content-Type") != hookclient.DocumentType {
		s.refuse(w, r, http.StatusMisdirectedRequest, errors.New("this publisher does not redact; the hook command records"))
		return
	}
	s.ServeHTTP(w, r)
}

// placedOwn counts the requests of the data directory's socket separately, so that senders over the
// network cannot use up the limits. Only the owner can connect, so this sender may use all of them.
func (s *HookService) placedOwn(next http.Handler) http.Handler {
	room := intake.NewRoom(intake.Limits{SenderRequests: intake.DefaultRequests, SenderBytes: intake.DefaultBytes})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		place, err := room.Enter("")
		if err != nil {
			setBusy(w, err)
			s.refuse(w, r, problemOf(err).Status, err)
			return
		}
		defer place.Leave()
		r.Body = place.Body(r)
		next.ServeHTTP(w, r)
	})
}
