package intake

import (
	"cmp"
	"container/list"
	"context"
	"net"
	"net/http"
	"strconv"
	"sync"

	"github.com/hooktrail/hooktrail/internal/capture/problem"
)

const (
	// DefaultConns is the default limit on connections for each network, such as tcp or unix.
	DefaultConns = 1024
	// surplus is how many connections above the limit get a response that refuses their requests.
	surplus = 64
)

// Conns limits the connections of one server. Each network that the server listens on, such as tcp
// and unix, has a separate limit. At the limit, a new connection replaces the connection that has
// been idle longest. If none is idle, requests on the new connection get status 503. A user of a
// Unix socket may have at most half of the connections.
type Conns struct {
	max  int
	mu   sync.Mutex // guards the other fields
	open map[string]*network
	of   map[net.Conn]*conn
}

type network struct {
	served, refused int
	by              map[string]int // served connections by user
	idle            list.List      // of net.Conn, the longest first
}

type conn struct {
	network *network
	user    string
	idle    *list.Element // nil while a request is open
	refused bool
}

// NewConns returns a Conns with the given limit for each network. 0 means [DefaultConns].
func NewConns(places int) *Conns {
	return &Conns{max: cmp.Or(places, DefaultConns), open: map[string]*network{}, of: map[net.Conn]*conn{}}
}

type refusedKey struct{}

// Register applies the limit to a server. Call it after the fields of server are set. userOf
// returns the user of a connection from its context, or "" if the user is unknown.
func (c *Conns) Register(server *http.Server, userOf func(context.Context) string) {
	before, next := server.ConnContext, server.Handler
	server.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		if before != nil {
			ctx = before(ctx, conn)
		}
		if !c.add(conn, userOf(ctx)) {
			ctx = context.WithValue(ctx, refusedKey{}, true)
		}
		return ctx
	}
	server.ConnState = c.changed
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Context().Value(refusedKey{}) == nil {
			next.ServeHTTP(w, r)
			return
		}
		err := busy(http.StatusServiceUnavailable, "all "+strconv.Itoa(c.max)+" connections are in use")
		err.SetHeader(w.Header())
		w.Header().Set("Connection", "close")
		_ = problem.Problem{Status: err.Status, Detail: err.Error()}.Write(w) // best effort
	})
}

// add counts a new connection. It returns false if the requests of the connection must be refused.
// If too many other connections are refused, add closes the connection.
func (c *Conns) add(added net.Conn, user string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := added.LocalAddr().Network()
	n := c.open[name]
	if n == nil {
		n = &network{by: map[string]int{}}
		c.open[name] = n
	}
	is := &conn{network: n, user: user, refused: user != "" && n.by[user] >= (c.max+1)/2}
	if n.served >= c.max && !is.refused {
		is.refused = !c.closeIdle(n)
	}
	c.of[added] = is
	if !is.refused {
		n.served++
		n.by[user]++
		is.idle = n.idle.PushBack(added)
		return true
	}
	if n.refused++; n.refused > surplus {
		_ = added.Close()
	}
	return false
}

func (c *Conns) closeIdle(n *network) bool {
	front := n.idle.Front()
	if front == nil {
		return false
	}
	oldest, ok := front.Value.(net.Conn)
	if ok {
		c.remove(oldest)
		_ = oldest.Close()
	}
	return ok
}

func (c *Conns) changed(changed net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	is := c.of[changed]
	if is == nil {
		return
	}
	switch state {
	case http.StateNew:
	case http.StateActive:
		if is.idle != nil {
			is.network.idle.Remove(is.idle)
			is.idle = nil
		}
	case http.StateIdle:
		if is.idle == nil && !is.refused {
			is.idle = is.network.idle.PushBack(changed)
		}
	case http.StateClosed, http.StateHijacked:
		c.remove(changed)
	}
}

func (c *Conns) remove(removed net.Conn) {
	is := c.of[removed]
	delete(c.of, removed)
	if is.refused {
		is.network.refused--
		return
	}
	is.network.served--
	if is.network.by[is.user]--; is.network.by[is.user] == 0 {
		delete(is.network.by, is.user)
	}
	if is.idle != nil {
		is.network.idle.Remove(is.idle)
	}
}
