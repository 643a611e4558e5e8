package siem

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Transport is the protocol over which syslog messages are sent.
type Transport string

// The supported transports.
const (
	TCP Transport = "tcp" // RFC 6587, octet counting
	TLS Transport = "tls" // RFC 5425
	UDP Transport = "udp" // RFC 5426, without acknowledgment
)

const (
	dialLimit  = 10 * time.Second
	writeLimit = 30 * time.Second
	ackPoll    = 5 * time.Millisecond

	priorityInfo    = 13*8 + 6 // facility log audit
	priorityWarning = 13*8 + 4
)

type syslog struct {
	conn    net.Conn
	tcp     *net.TCPConn // nil for UDP
	out     *bufio.Writer
	host    string
	message []byte
	logger  *slog.Logger
}

// Syslog returns a function that connects to a syslog receiver (RFC 5424). config is for [TLS]
// only. Records that are too long for a datagram are cut.
func Syslog(transport Transport, address string, config *tls.Config, logger *slog.Logger) func(context.Context) (Sink, error) {
	return func(ctx context.Context) (Sink, error) {
		ctx, cancel := context.WithTimeout(ctx, dialLimit)
		defer cancel()
		network := "tcp"
		if transport == UDP {
			network = "udp"
		}
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		s := &syslog{conn: conn, host: hostname(), logger: logger}
		s.tcp, _ = conn.(*net.TCPConn)
		if transport == TLS {
			secured := tls.Client(conn, config)
			if err := secured.HandshakeContext(ctx); err != nil {
				return nil, errors.Join(err, conn.Close())
			}
			s.conn = secured
		}
		s.out = bufio.NewWriter(s.conn)
		return s, nil
	}
}

func hostname() string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return "-"
	}
	return printable(name, 255)
}

// In a syslog header, "-" means no value (RFC 5424).
func printable(text string, limit int) string {
	out := []byte(text)[:min(len(text), limit)]
	for i, c := range out {
		if c <= ' ' || c > '~' {
			out[i] = '_'
		}
	}
	if len(out) == 0 {
		return "-"
	}
	return string(out)
}

// Send implements [Sink].
func (s *syslog) Send(e ledger.Entry, line []byte) error {
	priority := priorityInfo
	if e.Class == ledger.ClassConflict || e.Class == ledger.ClassQuarantine || e.Kind == events.GapRecorded {
		priority = priorityWarning
	}
	at := e.Time
	if at.IsZero() {
		at = e.Stored
	}
	s.message = fmt.Appendf(s.message[:0], "<%d>1 %s %s hooktrail - %s - ", priority, at.UTC().Format("2006-01-02T15:04:05.000000Z"),
		s.host, printable(string(e.Kind), 32))
	s.message = append(s.message, line...)
	if err := s.conn.SetWriteDeadline(time.Now().Add(writeLimit)); err != nil {
		return err
	}
	if s.tcp == nil {
		return s.sendDatagram(e.Leaf)
	}
	_, err := s.out.WriteString(strconv.Itoa(len(s.message)) + " ")
	if err == nil {
		_, err = s.out.Write(s.message)
	}
	return err
}

const (
	maxDatagram = 65507 // content of a datagram over IPv4
	minDatagram = 480   // every receiver accepts this size, see RFC 5426
)

func (s *syslog) sendDatagram(leaf int64) error {
	_, err := s.conn.Write(s.message)
	for size := maxDatagram; errors.Is(err, syscall.EMSGSIZE) && size >= minDatagram; size /= 2 {
		if size >= len(s.message) {
			continue
		}
		for !utf8.RuneStart(s.message[size]) {
			size--
		}
		if _, err = s.conn.Write(s.message[:size]); err == nil {
			s.logger.Warn("record cut, it is too long for a datagram", "leaf", leaf, "bytes", len(s.message), "sent", size)
		}
	}
	return err
}

// Flush implements [Sink]. Unless the transport is UDP, it waits until the receiver's machine has
// acknowledged all bytes.
func (s *syslog) Flush(ctx context.Context) error {
	if s.tcp == nil {
		return nil
	}
	if err := s.out.Flush(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	for {
		n, err := unacknowledged(s.tcp)
		if err != nil {
			return err
		}
		if n == 0 {
			return s.alive()
		}
		if !sleep(ctx, ackPoll) {
			return fmt.Errorf("%d bytes not acknowledged in %s", n, writeLimit)
		}
	}
}

// A receiver that closed the connection may have discarded bytes that TCP acknowledged.
func (s *syslog) alive() error {
	if err := s.conn.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
		return err
	}
	var one [1]byte
	_, err := s.conn.Read(one[:])
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return err // ignore an answer of the receiver
}

// Close implements [Sink].
func (s *syslog) Close() error { return s.conn.Close() }
