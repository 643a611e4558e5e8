package natstest

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

const clusterSize = 3

// Cluster is three servers on the loopback. Each stream has three replicas.
type Cluster struct {
	servers []*server.Server
	options []*server.Options
}

// StartCluster runs a cluster with the default streams until the test ends.
func StartCluster(tb testing.TB) *Cluster {
	tb.Helper()
	c := &Cluster{servers: make([]*server.Server, clusterSize)}
	ports := freePorts(tb, clusterSize)
	var routes []*url.URL
	for _, p := range ports {
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", p)})
	}
	for i := range clusterSize {
		c.options = append(c.options, &server.Options{
			ServerName: fmt.Sprintf("n%d", i),
			Host:       "127.0.0.1",
			Port:       server.RANDOM_PORT,
			NoSigs:     true,
			NoLog:      true,
			JetStream:  true,
			StoreDir:   tb.TempDir(),
			Cluster:    server.ClusterOpts{Name: "natstest", Host: "127.0.0.1", Port: ports[i]},
			Routes:     routes,

			DisableJetStreamBanner: true,
		})
		c.Restart(tb, i)
	}
	tb.Cleanup(func() {
		for i := range c.servers {
			c.Stop(i)
		}
	})
	c.ensureStreams(tb)
	return c
}

func (c *Cluster) ensureStreams(tb testing.TB) {
	tb.Helper()
	js := c.JetStream(tb)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		try, cancel := context.WithTimeout(ctx, 5*time.Second)
		_, err := broker.EnsureStreams(try, js, subjects.Space{}, broker.StreamOptions{MaxBytes: 64 << 20, Replicas: clusterSize})
		cancel()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			tb.Fatalf("ensure streams: %v", err)
		}
	}
}

// URL returns the address of one server.
func (c *Cluster) URL(i int) string { return fmt.Sprintf("nats://127.0.0.1:%d", c.options[i].Port) }

// JetStream returns the JetStream context of a new connection to any server.
func (c *Cluster) JetStream(tb testing.TB) jetstream.JetStream {
	tb.Helper()
	var urls []string
	for i := range c.options {
		urls = append(urls, c.URL(i))
	}
	nc, err := nats.Connect(strings.Join(urls, ","), nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond))
	if err != nil {
		tb.Fatalf("connect: %v", err)
	}
	tb.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		tb.Fatalf("JetStream: %v", err)
	}
	return js
}

// Leader returns the index of the server that leads a durable consumer, or the stream if durable is
// empty. Without a leader, it returns -1.
func (c *Cluster) Leader(stream, durable string) int {
	return slices.IndexFunc(c.servers, func(s *server.Server) bool {
		switch {
		case s == nil:
			return false
		case durable == "":
			return s.JetStreamIsStreamLeader(server.DEFAULT_GLOBAL_ACCOUNT, stream)
		}
		return s.JetStreamIsConsumerLeader(server.DEFAULT_GLOBAL_ACCOUNT, stream, durable)
	})
}

// Stop stops one server, if it runs.
func (c *Cluster) Stop(i int) {
	if c.servers[i] == nil {
		return
	}
	c.servers[i].Shutdown()
	c.servers[i].WaitForShutdown()
	c.servers[i] = nil
}

// Restart starts a stopped server with the same store and port.
func (c *Cluster) Restart(tb testing.TB, i int) {
	tb.Helper()
	srv, err := server.NewServer(c.options[i])
	if err != nil {
		tb.Fatalf("server: %v", err)
	}
	srv.Start()
	if !srv.ReadyForConnections(readyTimeout) {
		srv.Shutdown()
		tb.Fatalf("server: not ready after %v", readyTimeout)
	}
	if addr, ok := srv.Addr().(*net.TCPAddr); ok {
		c.options[i].Port = addr.Port
	}
	c.servers[i] = srv
}

func freePorts(tb testing.TB, n int) []int {
	tb.Helper()
	var ports []int
	var lc net.ListenConfig
	for range n {
		l, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
		if err != nil {
			tb.Fatalf("free port: %v", err)
		}
		defer func() { _ = l.Close() }() // close all listeners at the end, so that the ports differ
		addr, ok := l.Addr().(*net.TCPAddr)
		if !ok {
			tb.Fatalf("free port: %v", l.Addr())
		}
		ports = append(ports, addr.Port)
	}
	return ports
}
