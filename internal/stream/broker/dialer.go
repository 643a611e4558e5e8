package broker

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// serverName must not reveal the secret, because every client gets the name.
func serverName(secret string) string {
	sum := sha256.Sum256([]byte("server of " + secret))
	return "hooktrail-" + hex.EncodeToString(sum[:8])
}

type dialer struct{ dir, name string }

func dialerOf(dir string) (dialer, error) {
	name, err := os.ReadFile(filepath.Join(dir, "name"))
	if err != nil {
		return dialer{}, fmt.Errorf("broker name: %w", err)
	}
	return dialer{dir: dir, name: string(name)}, nil
}

// Dial implements nats.CustomDialer.
func (d dialer) Dial(network, _ string) (net.Conn, error) {
	address, err := d.address()
	if err != nil {
		return nil, err
	}
	direct := net.Dialer{Timeout: dialTimeout}
	conn, err := direct.Dial(network, address)
	if err != nil {
		return nil, err
	}
	greeted, err := d.greet(conn)
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("broker at %s: %w", address, err)
	}
	return greeted, nil
}

// greet checks the server's name first, so that another program never receives the secret.
func (d dialer) greet(conn net.Conn) (net.Conn, error) {
	if err := conn.SetReadDeadline(time.Now().Add(dialTimeout)); err != nil {
		return nil, err
	}
	r := bufio.NewReaderSize(conn, greetingBytes)
	line, err := r.ReadSlice('\n')
	if err != nil {
		return nil, fmt.Errorf("greeting: %w", err)
	}
	var info struct {
		Name string `json:"server_name"`
	}
	if data, ok := bytes.CutPrefix(line, []byte("INFO ")); !ok || json.Unmarshal(data, &info) != nil || info.Name != d.name {
		return nil, fmt.Errorf("another program has the port of the server of %s", d.dir)
	}
	return &greetedConn{Conn: conn, greeting: bytes.Clone(line), rest: r}, conn.SetReadDeadline(time.Time{})
}

const greetingBytes = 32 << 10

type greetedConn struct {
	net.Conn
	greeting []byte
	rest     *bufio.Reader
}

// Read implements net.Conn.
func (c *greetedConn) Read(p []byte) (int, error) {
	if len(c.greeting) > 0 {
		n := copy(p, c.greeting)
		c.greeting = c.greeting[n:]
		return n, nil
	}
	if c.rest.Buffered() > 0 {
		return c.rest.Read(p)
	}
	return c.Conn.Read(p)
}

// address accepts only loopback addresses, because the client sends the secret there.
func (d dialer) address() (string, error) {
	data, err := os.ReadFile(filepath.Join(d.dir, "url"))
	if err != nil {
		return "", fmt.Errorf("broker address: %w", err)
	}
	u, err := url.Parse(strings.TrimSpace(string(data)))
	if err != nil {
		return "", fmt.Errorf("broker address: %w", err)
	}
	if _, _, err := loopback(u.Host); err != nil {
		return "", fmt.Errorf("broker address in %s: %w", d.dir, err)
	}
	return u.Host, nil
}
