package broker_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nkeys"

	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

// A hostile server asks a client to sign a grant in place of a nonce.
func TestDial_SignsNoncesOnly(t *testing.T) {
	user, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	seed, _ := user.Seed()
	file := filepath.Join(t.TempDir(), "tenant.nk")
	if err := os.WriteFile(file, seed, 0o600); err != nil {
		t.Fatal(err)
	}
	for nonce, isSigned := range map[string]bool{"hooktrail/grant/v1\n{}": false, "wBMZ3YF0zqVg8Vo": true} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		answer := make(chan string, 1)
		go func() {
			defer close(answer)
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			fmt.Fprintf(conn, `INFO {"server_id":"x","auth_required":true,"max_payload":1048576,"nonce":%s}`+"\r\n", strconv.Quote(nonce))
			line, _ := bufio.NewReader(conn).ReadString('\n')
			answer <- line
		}()
		_, err = broker.Dial(t.Context(), broker.Options{
			URL: "nats://" + l.Addr().String(), Role: subjects.PublisherRole, Login: broker.Login{NKey: file},
		})
		if err == nil {
			t.Error("connected to a server that does not answer")
		}
		l.Close()
		if line := <-answer; strings.Contains(line, `"sig":"`) != isSigned {
			t.Errorf("nonce %q: %v, the client answered %q", nonce, err, line)
		}
	}
}
