package broker_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/platform/filelock"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
)

const childEnv = "HOOKTRAIL_BROKER_CHILD" // data directory of the process that is killed

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		fmt.Fprintln(os.Stderr, child(dir))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func child(dir string) error {
	ctx := context.Background()
	b, err := broker.Open(ctx, broker.Options{DataDir: dir, StreamMaxBytes: 64 * mib})
	if err != nil {
		return err
	}
	for n := 1; ; n++ {
		if _, err := b.JetStream().Publish(ctx, "hooktrail.chain.acme.p1", fmt.Append(nil, n)); err != nil {
			return err
		}
		fmt.Println(n)
	}
}

//guarantee:port-taken
func TestDial_OtherServerOnTheOldPort(t *testing.T) {
	dir := t.TempDir()
	if err := open(t, broker.Options{DataDir: dir, StreamMaxBytes: 64 * mib}).Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	foreign, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer foreign.Close()
	if err := os.WriteFile(filepath.Join(dir, "nats", "url"), []byte("nats://"+foreign.Addr().String()), 0o600); err != nil {
		t.Fatal(err)
	}
	told := make(chan int, 1)
	go func() {
		conn, err := foreign.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		fmt.Fprint(conn, `INFO {"server_id":"X","server_name":"another","version":"2.15.2","headers":true,"max_payload":1048576}`+"\r\n")
		got, _ := io.ReadAll(conn) // everything before the client disconnected
		told <- len(got)
	}()
	nc, err := broker.Dial(t.Context(), broker.Options{DataDir: dir, Name: "test"})
	if err == nil {
		nc.Close()
		t.Error("connected to another program's server")
	}
	if n := <-told; n > 0 {
		t.Errorf("another program's server got %d bytes", n)
	}
}

func publish(t *testing.T, b *broker.Broker) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	status := b.Conn().StatusChanged(nats.CONNECTED)
	defer b.Conn().RemoveStatusListener(status)
	id := rand.Text()
	for {
		// A server that stops now sends no answer.
		once, stop := context.WithTimeout(ctx, time.Second)
		_, err := b.JetStream().Publish(once, chain(t), []byte("{}"), jetstream.WithMsgID(id))
		stop()
		if err == nil {
			return
		}
		select {
		case <-status:
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("publish: %v", err)
		}
	}
}

func stored(t *testing.T, b *broker.Broker) uint64 {
	t.Helper()
	stream, err := b.JetStream().Stream(t.Context(), b.Space().EventStream())
	if err != nil {
		t.Fatal(err)
	}
	return stream.CachedInfo().State.Msgs
}

func TestOpen_ManyAtOnce(t *testing.T) {
	dir := t.TempDir()
	brokers := make([]*broker.Broker, 8)
	errs := make([]error, len(brokers))
	var wg sync.WaitGroup
	for i := range brokers {
		wg.Go(func() {
			brokers[i], errs[i] = broker.Open(t.Context(), broker.Options{DataDir: dir, StreamMaxBytes: 64 * mib})
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	servers := 0
	for _, b := range brokers {
		defer closeBroker(t, b)
		if b.Embedded() {
			servers++
		}
		publish(t, b)
	}
	if got := stored(t, brokers[0]); servers != 1 || got != uint64(len(brokers)) {
		t.Errorf("got %d servers and %d messages, want 1 and %d", servers, got, len(brokers))
	}
}

func TestOpen_StaleAddressIsNotFollowed(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "nats"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "nats", "url"), []byte("nats://127.0.0.1:1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := open(t, broker.Options{DataDir: dir})
	if !b.Embedded() {
		t.Error("the lock was free, and it did not become the server")
	}
	publish(t, b)
}

func TestOpen_WaitsForTheHolderOfTheLock(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "nats"), 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := filelock.Try(filepath.Join(dir, "nats", "lock"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = broker.Open(t.Context(), broker.Options{DataDir: dir, ConnectTimeout: 100 * time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("got %v, want an error that names the other process", err)
	}
	opened := make(chan error, 1)
	go func() {
		b, err := broker.Open(t.Context(), broker.Options{DataDir: dir, StreamMaxBytes: 64 * mib})
		if err == nil {
			err = b.Close(context.WithoutCancel(t.Context()))
		}
		opened <- err
	}()
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

func TestOpen_RefusesAnAddressElsewhere(t *testing.T) {
	dir := t.TempDir()
	first := open(t, broker.Options{DataDir: dir})
	path := filepath.Join(dir, "nats", "url")
	if err := os.WriteFile(path, []byte("nats://192.0.2.1:4222\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := broker.Open(t.Context(), broker.Options{DataDir: dir, ConnectTimeout: 100 * time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "127.0.0.1 only") {
		t.Errorf("got %v, want a refusal", err)
	}
	closeBroker(t, first)
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("url after the end: got %v, want none", err)
	}
}

func TestBroker_FollowsTheServer(t *testing.T) {
	for _, test := range []struct {
		name      string
		portTaken bool
	}{{"SamePort", false}, {"OtherPort", true}} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			first := open(t, broker.Options{DataDir: dir})
			second := open(t, broker.Options{DataDir: dir})
			publish(t, second)
			address := first.URL()
			closeBroker(t, first)
			if test.portTaken {
				l, err := net.Listen("tcp", strings.TrimPrefix(address, "nats://"))
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
			}
			third := open(t, broker.Options{DataDir: dir})
			publish(t, second)
			if got := stored(t, third); got != 2 {
				t.Errorf("got %d messages, want 2", got)
			}
			host := third
			if second.Embedded() {
				host = second
			}
			if second.Embedded() == third.Embedded() || (host.URL() == address) == test.portTaken {
				t.Errorf("run by the second: %v, by the third: %v; at %s, before %s", second.Embedded(), third.Embedded(), host.URL(), address)
			}
		})
	}
}

// When the process that runs the server exits, joined processes take over one after another.
//
//guarantee:server-ends
func TestBroker_TakesOver(t *testing.T) {
	dir := t.TempDir()
	first := open(t, broker.Options{DataDir: dir})
	others := []*broker.Broker{open(t, broker.Options{DataDir: dir}), open(t, broker.Options{DataDir: dir})}
	closeBroker(t, first)
	for _, b := range others {
		publish(t, b)
	}
	if others[0].Embedded() == others[1].Embedded() {
		t.Fatalf("run by one: %v, by the other: %v", others[0].Embedded(), others[1].Embedded())
	}
	if others[1].Embedded() {
		others[0], others[1] = others[1], others[0]
	}
	closeBroker(t, others[0])
	publish(t, others[1])
	if got := stored(t, others[1]); got != 3 || !others[1].Embedded() {
		t.Errorf("got %d messages, want 3; run by the last one: %v", got, others[1].Embedded())
	}
}

//guarantee:server-ends
func TestOpen_AfterTheServerWasKilled(t *testing.T) {
	dir := t.TempDir()
	run := exec.CommandContext(t.Context(), os.Args[0])
	run.Env = append(os.Environ(), childEnv+"="+dir)
	run.Stderr = t.Output()
	out, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for range 20 {
		if !lines.Scan() {
			t.Fatal("it ended by itself")
		}
	}
	joined := open(t, broker.Options{DataDir: dir})
	if joined.Embedded() {
		t.Error("two servers on one store")
	}
	if err := run.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	acked := uint64(20)
	for lines.Scan() {
		acked++
	}
	if err := run.Wait(); err == nil {
		t.Fatal("it ended before it was killed")
	}
	b := open(t, broker.Options{DataDir: dir})
	publish(t, joined)
	if got := stored(t, b); b.Embedded() == joined.Embedded() || got <= acked {
		t.Errorf("run by one: %v, by the other: %v; %d messages, want more than %d", b.Embedded(), joined.Embedded(), got, acked)
	}
}
