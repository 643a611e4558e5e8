package auditor

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/siem"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

// frame reads one message with octet counting (RFC 6587).
func frame(r *bufio.Reader) (string, error) {
	head, err := r.ReadString(' ')
	if err != nil {
		return "", err
	}
	n, err := strconv.Atoi(strings.TrimSuffix(head, " "))
	if err != nil {
		return "", err
	}
	data := make([]byte, n)
	_, err = io.ReadFull(r, data)
	return string(data), err
}

// A receiver that restarts gets all remaining records in order, over TCP and TLS.
//
//guarantee:siem
func TestStream_ReceiverRestarts(t *testing.T) {
	_, dir := reportable(t)
	want := auditortest.Verify(t, dir, "acme").Leaves
	secure := httptest.NewUnstartedServer(nil)
	secure.StartTLS()
	defer secure.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, scheme := range []string{"tcp", "tls"} {
		t.Run(scheme, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			if scheme == "tls" {
				l = tls.NewListener(l, &tls.Config{Certificates: secure.TLS.Certificates})
			}
			defer l.Close()
			got := make(chan string, 4*want)
			go func() {
				for accepted := 0; ; accepted++ {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					r := bufio.NewReader(conn)
					for n := 0; accepted > 0 || n < 3; n++ { // the first connection ends early
						text, err := frame(r)
						if err != nil {
							break
						}
						got <- text
					}
					conn.Close()
				}
			}()
			args := []string{
				"stream", "--data-dir", dir, "--tenant", "acme", "--once", "--format", "ocsf", "--to", scheme + "://" + l.Addr().String(), "--tls-ca", ca,
			}
			if status, _, errs := commandBoth(t, args...); status != 0 || !strings.Contains(errs, "receiver of records not reached") {
				t.Fatalf("status %d: %s", status, errs)
			}
			next := int64(0)
			for next < want {
				select {
				case text := <-got:
					if !strings.HasPrefix(text, "<110>1 ") || !strings.Contains(text, " hooktrail - ") {
						t.Fatalf("not a syslog message: %s", text)
					}
					if strings.Contains(text, `"leaf":`+strconv.FormatInt(next, 10)+",") {
						next++
					}
				case <-auditortest.Deadline(t).Done():
					t.Fatalf("leaf %d did not arrive", next)
				}
			}
		})
	}
}

// A stream continues after its position, records an access at each start, and refuses a ledger that
// does not continue the position.
//
//guarantee:siem
func TestStream_Resumes(t *testing.T) {
	b, dir := reportable(t)
	want := auditortest.Verify(t, dir, "acme").Leaves
	file := filepath.Join(t.TempDir(), "out.jsonl")
	in := []string{"stream", "--data-dir", dir, "--tenant", "acme", "--once"}
	for range 2 {
		if status, _ := command(t, append(in, "--to", "file:"+file)...); status != 0 {
			t.Fatalf("status %d", status)
		}
	}
	if n := strings.Count(string(auditortest.ReadFile(t, file)), "\n"); int64(n) != want {
		t.Errorf("%d lines, want %d", n, want)
	}
	drain(t, b, dir)
	if status, _ := command(t, append(in, "--to", "file:"+file)...); status != 0 {
		t.Fatalf("status %d", status)
	}
	text := string(auditortest.ReadFile(t, file))
	if n := strings.Count(text, "\n"); int64(n) != auditortest.Verify(t, dir, "acme").Leaves || !strings.Contains(text, `"as":"jsonl to file:`) {
		t.Errorf("%d lines:\n%s", n, text)
	}
	position := filepath.Join(t.TempDir(), "position")
	if err := os.WriteFile(position, []byte(`{"leaf":3,"sha256":"00"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, _, errs := commandBoth(t, append(in, "--position", position)...); status != 1 || !strings.Contains(errs, "does not continue") {
		t.Errorf("a foreign position: status %d, %s", status, errs)
	}
	for _, to := range []string{"tcp://host", "http://h:1", "udp://h:1", "file:", "tcp://h:1/x"} {
		if status, _ := command(t, append(in, "--to", to)...); status != cli.ExitUsage {
			t.Errorf("%s: status %d", to, status)
		}
	}
	edit(t, dir, "UPDATE leaves SET run = 0 WHERE leaf = 3")
	if status, out := command(t, in...); status != 40 || strings.Count(out, "\n") > 3 {
		t.Errorf("an edited ledger: status %d, %s", status, out)
	}
}

// An unreachable receiver does not end the stream, but a signal does.
//
//guarantee:siem
func TestStream_ReceiverAway(t *testing.T) {
	b, dir := reportable(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	cmd := Command()
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	status := cli.Execute(ctx, cmd, []string{"stream", "--data-dir", dir, "--tenant", "acme", "--to", "tcp://127.0.0.1:1"})
	if status != 0 {
		t.Errorf("status %d", status)
	}
	drain(t, b, dir) // the ledger grows
}

// A record that is too long for a datagram is cut, and the records after it arrive.
//
//guarantee:siem
func TestStream_UDPTooLong(t *testing.T) {
	receiver, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer receiver.Close()
	var log bytes.Buffer
	open := siem.Syslog(siem.UDP, receiver.LocalAddr().String(), nil, slog.New(slog.NewTextHandler(&log, nil)))
	s, err := open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Send(ledger.Entry{Leaf: 7}, []byte(strings.Repeat("ü", 70_000))); err != nil {
		t.Fatal(err)
	}
	if err := s.Send(ledger.Entry{Leaf: 8}, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if err := receiver.SetReadDeadline(time.Now().Add(auditortest.Limit)); err != nil {
		t.Fatal(err)
	}
	message := make([]byte, 70_000)
	n, _, err := receiver.ReadFrom(message)
	if err != nil || n < 480 || !utf8.Valid(message[:n]) {
		t.Errorf("got %d bytes, %v", n, err)
	}
	n, _, err = receiver.ReadFrom(message)
	if err != nil || !strings.HasSuffix(string(message[:n]), " {}") {
		t.Errorf("got %q, %v", message[:n], err)
	}
	if text := log.String(); strings.Count(text, "leaf=7") != 1 || strings.Contains(text, "ü") {
		t.Errorf("logged %q", text)
	}
}

func TestStream_UDP(t *testing.T) {
	_, dir := reportable(t)
	receiver, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer receiver.Close()
	to := "udp://" + receiver.LocalAddr().String()
	if status, _ := command(t, "stream", "--data-dir", dir, "--tenant", "acme", "--once", "--format", "ocsf", "--to", to); status != 0 {
		t.Fatalf("status %d", status)
	}
	if err := receiver.SetReadDeadline(time.Now().Add(auditortest.Limit)); err != nil {
		t.Fatal(err)
	}
	message := make([]byte, 64<<10)
	n, _, err := receiver.ReadFrom(message)
	if err != nil || !strings.HasPrefix(string(message[:n]), "<110>1 ") || !strings.HasSuffix(string(message[:n]), "}") {
		t.Errorf("got %q, %v", message[:n], err)
	}
}
