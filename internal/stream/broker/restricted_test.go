package broker_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

func anonymous(t *testing.T, b *broker.Broker) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(b.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return quiet(nc)
}

// The server sends an answer to any reply subject with all rights of the account, and a publisher
// chooses the content of a manifest. Separate accounts prevent that a client reads or deletes the
// data of others through an answer.
//
//guarantee:reply-foreign
func TestRestricted_AnswersGoNowhereElse(t *testing.T) {
	dir := t.TempDir()
	b := open(t, broker.Options{DataDir: dir})
	for name, nc := range map[string]*nats.Conn{"local": anonymous(t, b), "engine": engine(t, b, dir, "acme")} {
		spy := fmt.Sprintf(`{"stream_name":"HOOKTRAIL_EV","config":{"durable_name":"spy","name":"spy","deliver_subject":"_INBOX.%s"}}`, name)
		for producer, order := range map[string]string{"spy": spy, "none": ""} {
			if _, err := nc.Request("hooktrail.chain.acme."+producer, []byte(order), 5*time.Second); err != nil {
				t.Fatal(err)
			}
			for _, reply := range []string{
				"$JS.API.CONSUMER.CREATE.HOOKTRAIL_EV.spy", "$JS.API.CONSUMER.DURABLE.CREATE.HOOKTRAIL_EV.spy",
				"$JS.API.STREAM.DELETE.HOOKTRAIL_ADV", "hooktrail.dlq.auditor", "hooktrail.ev.other.p.r.custom",
			} {
				if name == "local" && strings.HasPrefix(reply, "hooktrail.ev.") {
					continue // allowed in any case
				}
				err := nc.PublishRequest("$JS.API.DIRECT.GET.HOOKTRAIL_EV.hooktrail.chain.acme."+producer, reply, nil)
				if err := errors.Join(err, nc.Flush()); err != nil {
					t.Fatal(err)
				}
			}
		}
		// The earlier answers arrive before this one.
		if _, err := nc.Request("$JS.API.DIRECT.GET.HOOKTRAIL_EV.hooktrail.chain.acme.none", nil, 5*time.Second); err != nil {
			t.Fatal(err)
		}
		untouched(t, b, name)
	}
}

func untouched(t *testing.T, b *broker.Broker, who string) {
	t.Helper()
	for _, name := range []string{"HOOKTRAIL_EV", "HOOKTRAIL_DLQ", "HOOKTRAIL_ADV", "KV_HOOKTRAIL_CHECKPOINTS"} {
		stream, err := b.JetStream().Stream(t.Context(), name)
		if err != nil {
			t.Fatalf("%s: %s: %v", who, name, err)
		}
		info := stream.CachedInfo()
		if info.State.Consumers > 0 || name != "HOOKTRAIL_EV" && info.State.Msgs > 0 {
			t.Errorf("%s: %s has %d consumers and %d messages", who, name, info.State.Consumers, info.State.Msgs)
		}
		if _, err := stream.GetLastMsgForSubject(t.Context(), "hooktrail.ev.>"); err == nil {
			t.Errorf("%s: wrote an event by way of an answer", who)
		}
	}
}

func TestRestricted_NoDecisionService(t *testing.T) {
	dir := t.TempDir()
	b := open(t, broker.Options{DataDir: dir})
	for name, nc := range map[string]*nats.Conn{"local": anonymous(t, b), "engine": engine(t, b, dir, "acme")} {
		if _, err := nc.Request("hooktrail.decide.acme", nil, 5*time.Second); !errors.Is(err, nats.ErrNoResponders) {
			t.Errorf("%s: got %v, want %v", name, err, nats.ErrNoResponders)
		}
	}
}

//guarantee:connections
func TestRestricted_Connections(t *testing.T) {
	dir := t.TempDir()
	b := open(t, broker.Options{DataDir: dir})
	_, seed, err := broker.AddTenant(dir, "greedy")
	if err != nil {
		t.Fatal(err)
	}
	key := keyOption(t, seed)
	var conns []*nats.Conn
	defer func() {
		for _, nc := range conns {
			nc.Close()
		}
	}()
	for err == nil && len(conns) < 1024 {
		var nc *nats.Conn
		if nc, err = nats.Connect(b.URL(), key); err == nil {
			conns = append(conns, nc)
		}
	}
	if !errors.Is(err, nats.ErrAuthorization) || len(conns) < 100 || len(conns) > 512 {
		t.Fatalf("got %d connections, then %v", len(conns), err)
	}
	engine(t, b, dir, "modest")
	anonymous(t, b)
	open(t, broker.Options{DataDir: dir, Role: subjects.AuditorRole})
	conns[0].Close()
	for deadline := time.Now().Add(10 * time.Second); ; {
		nc, err := nats.Connect(b.URL(), key) // after the server has noticed the end of the first one
		if err == nil {
			conns = append(conns, nc)
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("in the place of one that left: %v", err)
		}
	}
}

func TestRestricted_WithoutConnect(t *testing.T) {
	b := open(t, broker.Options{DataDir: t.TempDir()})
	for _, first := range []string{"SUB > 1", "PUB hooktrail.ev.a.p.r.custom 0\r\n", "PING"} {
		c, err := net.Dial("tcp", strings.TrimPrefix(b.URL(), "nats://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprint(c, first+"\r\nPING\r\n")
		if got, err := io.ReadAll(bufio.NewReader(c)); err != nil || !strings.Contains(string(got), "-ERR") || strings.Contains(string(got), "PONG") {
			t.Errorf("%q: got %q, %v", first, got, err)
		}
	}
}

func TestRestricted_Subscriptions(t *testing.T) {
	nc := anonymous(t, open(t, broker.Options{DataDir: t.TempDir()}))
	for n := range 2000 {
		if _, err := nc.SubscribeSync(fmt.Sprintf("_INBOX.%d", n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := nc.LastError(); !errors.Is(err, nats.ErrMaxSubscriptionsExceeded) {
		t.Errorf("got %v, want %v", err, nats.ErrMaxSubscriptionsExceeded)
	}
}

// A guest can neither list chains nor read a chain whose id it does not know: not with wildcards,
// and not from the answers to others.
//
//guarantee:chain-private
func TestRestricted_ChainsArePrivate(t *testing.T) {
	dir := t.TempDir()
	b := open(t, broker.Options{DataDir: dir})
	if _, err := b.Conn().Request("hooktrail.chain.acme.secret", []byte("manifest"), 5*time.Second); err != nil {
		t.Fatal(err)
	}
	_, seed, err := broker.AddTenant(dir, "acme")
	if err != nil {
		t.Fatal(err)
	}
	for name, pair := range map[string][2]*nats.Conn{
		"local":  {anonymous(t, b), anonymous(t, b)},
		"engine": {engineWith(t, b, seed), engineWith(t, b, seed)},
	} {
		nc, victim := pair[0], pair[1]
		heard, err := nc.SubscribeSync("_INBOX.>")
		if err := errors.Join(err, nc.Flush()); err != nil {
			t.Fatal(err)
		}
		const lookup = "$JS.API.DIRECT.GET.HOOKTRAIL_EV.hooktrail.chain."
		if got, err := victim.Request(lookup+"acme.secret", nil, 5*time.Second); err != nil || string(got.Data) != "manifest" {
			t.Errorf("%s: the lookup of a known chain: %v, %v", name, got, err)
		}
		if got, err := victim.Request(lookup+"acme.other", nil, 5*time.Second); err != nil || got.Header.Get("Status") != "404" {
			t.Errorf("%s: the lookup of a chain that there is not: %v, %v", name, got, err)
		}
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
		if n, _, _ := heard.Pending(); n > 0 {
			t.Errorf("%s: heard %d answers to another client", name, n)
		}
		for _, chain := range []string{">", "*.*", "acme.>", "acme.*", "*", "*.secret"} {
			got, err := nc.Request(lookup+chain, nil, time.Second)
			if err == nil && (len(got.Data) > 0 || got.Header.Get("Nats-Subject") != "") {
				t.Errorf("%s: the lookup of %s answers %s with %s", name, chain, got.Header.Get("Nats-Subject"), got.Data)
			}
		}
	}
}
