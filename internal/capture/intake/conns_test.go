package intake

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// server serves two connections. Its handler tells entered, and reads the body.
func server(t *testing.T, l net.Listener) (entered chan struct{}) {
	t.Helper()
	entered = make(chan struct{}, 100)
	srv := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		_, _ = io.Copy(io.Discard, r.Body)
	})}
	NewConns(2).Register(srv, func(context.Context) string { return "" })
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close() })
	return entered
}

func open(t *testing.T, l net.Listener, text string) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), l.Addr().Network(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return conn
}

// status reads a response and closes its body.
func status(t *testing.T, conn net.Conn) *http.Response {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return resp
}

const (
	half  = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\n"
	whole = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
)

// Open requests keep their places, further connections get 503, and an idle connection makes way.
//
//guarantee:intake-bounded
func TestConns(t *testing.T) {
	for name, listen := range map[string]func() (net.Listener, error){
		"TCP":  func() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") },
		"Unix": func() (net.Listener, error) { return net.Listen("unix", filepath.Join(t.TempDir(), "s")) },
	} {
		t.Run(name, func(t *testing.T) {
			l, err := listen()
			if err != nil {
				t.Fatal(err)
			}
			entered := server(t, l)
			first := open(t, l, half)
			<-entered
			open(t, l, half)
			<-entered
			for range surplus + 10 { // each refusal gives its place back
				resp := status(t, open(t, l, whole)) //nolint:bodyclose // status closes it
				if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") != "1" || !resp.Close {
					t.Fatalf("got %s %v", resp.Status, resp.Header)
				}
			}
			if _, err := io.WriteString(first, "x"); err != nil {
				t.Fatal(err)
			}
			if resp := status(t, first); resp.StatusCode != http.StatusOK { //nolint:bodyclose // status closes it
				t.Errorf("the first: got %s", resp.Status)
			}
			for { // first becomes idle soon after its response
				if resp := status(t, open(t, l, whole)); resp.StatusCode == http.StatusOK { //nolint:bodyclose // status closes it
					break
				}
			}
			if _, err := first.Read(make([]byte, 1)); err == nil {
				t.Error("the idle connection is still open")
			}
		})
	}
}

type stub struct {
	net.Conn

	closed bool
}

func (s *stub) LocalAddr() net.Addr { return &net.UnixAddr{Name: "s", Net: "unix"} }
func (s *stub) Close() error        { s.closed = true; return nil }

// A user has at most half of the places of a socket, and refusals are bounded too.
func TestConns_Users(t *testing.T) {
	c := NewConns(4)
	active := func(user string) (*stub, bool) {
		s := &stub{}
		served := c.add(s, user)
		c.changed(s, http.StateActive)
		return s, served
	}
	for i := range 4 {
		if _, served := active("guest"); served != (i < 2) {
			t.Errorf("guest %d: served %v", i, served)
		}
	}
	last, served := active("agent")
	if !served {
		t.Error("another user is refused")
	}
	var refused []*stub
	for range 2 * surplus {
		s, _ := active("guest")
		refused = append(refused, s)
	}
	closed := 0
	for _, s := range refused {
		if s.closed {
			closed++
		}
		c.changed(s, http.StateClosed)
	}
	if want := surplus + 2; closed != want {
		t.Errorf("%d connections were closed at once, want %d", closed, want)
	}
	c.changed(last, http.StateClosed)
	c.changed(last, http.StateClosed)
	if n := c.open["unix"]; n.served != 2 || n.refused != 2 || len(n.by) != 1 {
		t.Errorf("got %+v", n)
	}
}

// Connections with TLS and HTTP/2 have places too.
func TestConns_HTTP2(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	c := NewConns(1)
	srv.EnableHTTP2 = true
	c.Register(srv.Config, func(context.Context) string { return "" })
	srv.StartTLS()
	defer srv.Close()
	for range 3 {
		resp, err := srv.Client().Get(srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil || resp.ProtoMajor != 2 || resp.StatusCode != http.StatusOK {
			t.Errorf("got %s %s, %v", resp.Proto, resp.Status, err)
		}
		srv.Client().CloseIdleConnections()
	}
	srv.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.of) > 0 || !strings.Contains(srv.URL, "https") {
		t.Errorf("%d connections are left", len(c.of))
	}
}
