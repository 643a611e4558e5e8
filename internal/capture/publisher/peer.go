package publisher

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"slices"

	"github.com/hooktrail/hooktrail/internal/platform/groupsocket"
	"github.com/hooktrail/hooktrail/internal/platform/osuser"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type userKey struct{}

// UserOf returns the sender of a request as USER@HOST, if the request came over the Unix socket for
// a group of users. For a request over TCP, it returns "".
func UserOf(ctx context.Context) string {
	user, _ := ctx.Value(userKey{}).(string)
	return user
}

// userFor returns the claimed user only if the user of the connection is unknown, because a claim
// proves nothing.
func userFor(ctx context.Context, claimed string) string {
	if user, ok := ctx.Value(userKey{}).(string); ok {
		return user
	}
	return claimed
}

// For a TCP connection, withPeer sets an empty user, so that no user name in an event is trusted.
func (a Access) withPeer(ctx context.Context, conn net.Conn, logger *slog.Logger) context.Context {
	if a.Socket.Path == "" {
		return ctx
	}
	if _, ok := conn.(*net.UnixConn); !ok {
		return context.WithValue(ctx, userKey{}, "")
	}
	uid, err := groupsocket.PeerUID(conn)
	if err != nil {
		logger.WarnContext(ctx, "user of a connection unknown, closing it", "error", err)
		_ = conn.Close()
		return context.WithValue(ctx, userKey{}, "")
	}
	return context.WithValue(ctx, userKey{}, osuser.Named(uid))
}

const claimedUser = "claimeduserid"

func setUser(ctx context.Context, e *events.Event) {
	user := userFor(ctx, e.User)
	if e.User == user {
		return
	}
	if e.User != "" {
		e.Extra = slices.DeleteFunc(slices.Clone(e.Extra), func(a events.Attribute) bool { return a.Name == claimedUser })
		value, err := json.Marshal(e.User)
		if err == nil {
			e.Extra = append(e.Extra, events.Attribute{Name: claimedUser, Value: value})
		}
	}
	e.User = user
}

// ServeSocket serves the Unix socket for a group of users until the server is shut down. It does
// nothing if no socket is configured. ended receives an error if serving fails.
func (a Access) ServeSocket(ctx context.Context, server *http.Server, logger *slog.Logger) (ended <-chan error, remove func() error, err error) {
	remove = func() error { return nil }
	if a.Socket.Path == "" {
		return nil, remove, nil
	}
	l, remove, err := a.Socket.Listen(ctx)
	if err != nil {
		return nil, nil, err
	}
	logger.InfoContext(ctx, "publisher listening", "socket", a.Socket.Path, "mode", cmp.Or(a.Socket.Mode, groupsocket.DefaultMode))
	served := make(chan error, 1)
	go func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			served <- err
		}
	}()
	return served, remove, nil
}
