package broker_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

// world is a server with the streams, and hostile clients.
type world struct {
	owner    *broker.Broker
	hostile  map[string]*nats.Conn // each may write events of acme
	victim   *nats.Conn            // an engine of acme with another key
	embedded bool
}

func quietly() nats.Option {
	return nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})
}

func dial(t *testing.T, url string, options ...nats.Option) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(url, append(options, quietly())...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

func openWorld(t *testing.T) world {
	t.Helper()
	return embeddedWorld(t, broker.AuthOpen)
}

func requiredWorld(t *testing.T) world {
	t.Helper()
	return embeddedWorld(t, broker.AuthRequired)
}

func embeddedWorld(t *testing.T, mode broker.AuthMode) world {
	t.Helper()
	dir := t.TempDir()
	w := world{owner: open(t, broker.Options{DataDir: dir, Auth: mode}), embedded: true}
	w.hostile = map[string]*nats.Conn{"engine": engine(t, w.owner, dir, "acme")}
	w.victim = engine(t, w.owner, dir, "acme")
	if mode == broker.AuthOpen {
		w.hostile["guest"] = dial(t, w.owner.URL())
	} else if nc, err := nats.Connect(w.owner.URL()); !errors.Is(err, nats.ErrAuthorization) {
		nc.Close()
		t.Errorf("a guest under %s: got %v, want %v", mode, err, nats.ErrAuthorization)
	}
	return w
}

// deployedWorld is a server with deploy/nats.conf and the accounts of hooktrail nats creds.
func deployedWorld(t *testing.T) world {
	t.Helper()
	data, dir := t.TempDir(), t.TempDir()
	var seeds [][]byte
	for range 2 {
		_, seed, err := broker.AddTenant(data, "acme")
		if err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, seed)
	}
	if _, err := broker.WriteCredentials(data, dir, subjects.Space{}, ""); err != nil {
		t.Fatal(err)
	}
	conf, err := os.ReadFile(filepath.Join("..", "..", "..", "deploy", "nats.conf"))
	err = errors.Join(err, os.WriteFile(filepath.Join(dir, "nats.conf"), conf, 0o600),
		os.Rename(filepath.Join(dir, "nats"), filepath.Join(dir, "auth")))
	if err != nil {
		t.Fatal(err)
	}
	opts, err := server.ProcessConfigFile(filepath.Join(dir, "nats.conf"))
	if err != nil {
		t.Fatal(err)
	}
	opts.Host, opts.Port, opts.HTTPPort, opts.StoreDir, opts.NoSigs, opts.NoLog = "127.0.0.1", server.RANDOM_PORT, 0, t.TempDir(), true, true
	url := running(t, opts)
	w := world{owner: open(t, broker.Options{URL: url, Login: broker.Login{NKey: filepath.Join(dir, "owner", "owner.nk")}})}
	w.hostile = map[string]*nats.Conn{"engine": dial(t, url, keyOption(t, seeds[0]))}
	w.victim = dial(t, url, keyOption(t, seeds[1]))
	return w
}

// A hostile guest or engine reads no event, changes no stream, hears no other client, and writes in
// no service's name.
//
//guarantee:hostile-client
func TestHostile(t *testing.T) {
	for name, start := range map[string]func(*testing.T) world{
		"EmbeddedOpen": openWorld, "EmbeddedRequired": requiredWorld, "Deployed": deployedWorld,
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			for _, subject := range []string{"hooktrail.ev.acme.victim-1.r.custom", "hooktrail.chain.acme.victim-1", "hooktrail.ev.other.p.r.custom", "hooktrail.chain.other.p"} {
				if _, err := w.owner.Conn().Request(subject, []byte("secret"), 5*time.Second); err != nil {
					t.Fatal(err)
				}
			}
			before := messages(t, w)
			for who, nc := range w.hostile {
				w.intrude(t, who, nc)
				w.snoop(t, who, nc)
				w.lookUp(t, who, nc)
			}
			if after := messages(t, w); after != before {
				t.Errorf("the streams held %s, and hold %s", before, after)
			}
		})
	}
}

func messages(t *testing.T, w world) string {
	t.Helper()
	var text strings.Builder
	for info := range w.owner.JetStream().ListStreams(t.Context(), jetstream.WithStreamListSubject("hooktrail.>")).Info() {
		fmt.Fprintf(&text, "%s %d %d, ", info.Config.Name, info.State.Msgs, info.State.Consumers)
	}
	return text.String()
}

func (w world) intrude(t *testing.T, who string, nc *nats.Conn) {
	t.Helper()
	var attempts []string
	for _, stream := range []string{"HOOKTRAIL_EV", "HOOKTRAIL_DLQ", "HOOKTRAIL_ADV", "KV_HOOKTRAIL_CHECKPOINTS"} {
		for _, api := range []string{
			"STREAM.PURGE", "STREAM.DELETE", "STREAM.UPDATE", "STREAM.CREATE", "STREAM.MSG.GET", "STREAM.MSG.DELETE", "STREAM.SNAPSHOT",
			"STREAM.RESTORE", "STREAM.INFO", "STREAM.PEER.REMOVE", "STREAM.LEADER.STEPDOWN", "CONSUMER.NAMES", "CONSUMER.LIST", "DIRECT.GET",
		} {
			attempts = append(attempts, "$JS.API."+api+"."+stream)
		}
		for _, name := range []string{"spy", "auditor", "publisher"} {
			attempts = append(attempts, "$JS.API.CONSUMER.CREATE."+stream+"."+name, "$JS.API.CONSUMER.CREATE."+stream+"."+name+".hooktrail.ev.>",
				"$JS.API.CONSUMER.DURABLE.CREATE."+stream+"."+name, "$JS.API.CONSUMER.MSG.NEXT."+stream+"."+name,
				"$JS.API.CONSUMER.DELETE."+stream+"."+name, "$JS.API.CONSUMER.INFO."+stream+"."+name,
				"$JS.API.CONSUMER.RESET."+stream+"."+name, "$JS.API.CONSUMER.PAUSE."+stream+"."+name, "$JS.ACK."+stream+"."+name+".1.1.1.1.1")
		}
	}
	attempts = append(attempts,
		"$JS.API.INFO", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.LIST", "$JS.API.ACCOUNT.PURGE.HOOKTRAIL", "$JS.API.META.LEADER.STEPDOWN",
		"$JS.other.API.STREAM.INFO.HOOKTRAIL_EV", "$SYS.REQ.SERVER.PING", "$SYS.REQ.ACCOUNT.HOOKTRAIL.INFO", "$SRV.PING", "_HTLOOKUP.hooktrail.chain.acme.victim-1",
		"$KV.HOOKTRAIL_CHECKPOINTS.acme", "$KV.HOOKTRAIL_CHECKPOINTS.lease.auditor", "hooktrail.dlq.auditor", "hooktrail.dlq.tracker",
		"$JS.API.DIRECT.GET.HOOKTRAIL_EV.hooktrail.ev.acme.victim-1.r.custom", "$JS.API.DIRECT.GET.HOOKTRAIL_EV.hooktrail.ev.>", "$JS.API.DIRECT.GET.HOOKTRAIL_EV.>",
	)
	for _, kind := range []string{"issue=2Eedited", "issue=2Edecided", "audit=2Eaccessed", "producer=2Elost", "clock=2Eticked"} {
		attempts = append(attempts, "hooktrail.ev.acme.p.r."+kind, "hooktrail.ev.acme.tracker-1.r."+kind)
		if who != "guest" { // the short form is the tenant's
			attempts = append(attempts, "hooktrail.ev.p.r."+kind)
		}
	}
	if who != "guest" { // a guest may write for any tenant
		attempts = append(attempts, "hooktrail.ev.other.p.r.custom", "hooktrail.chain.other.p", "hooktrail.decide.other",
			"$JS.API.DIRECT.GET.HOOKTRAIL_EV.hooktrail.chain.other.p", "$JS.API.DIRECT.GET.HOOKTRAIL_EV.hooktrail.chain.other.*")
	}
	for _, subject := range attempts {
		refused(t, nc, who+" "+subject, func() error { return nc.PublishRequest(subject, nc.NewInbox(), []byte("{}")) })
	}
	for _, subject := range []string{
		">", "*", "*.>", "hooktrail.>", "hooktrail.ev.>", "hooktrail.chain.>", "hooktrail.decide.>", "hooktrail.decide.acme", "$JS.>", "$JS.API.>",
		"$JS.EVENT.>", "$KV.>", "$SYS.>", "$SRV.>", "_HTINBOX.>", "_HTINBOX.auditor.>", "_HTLOOKUP.>", "_R_.>", "$G.>",
	} {
		refused(t, nc, who+" subscribes to "+subject, func() error {
			_, err := nc.SubscribeSync(subject)
			return err
		})
	}
}

func (w world) snoop(t *testing.T, who string, nc *nats.Conn) {
	t.Helper()
	heard, err := nc.SubscribeSync("_INBOX.>")
	if err := errors.Join(err, nc.Flush()); err != nil {
		t.Fatal(err)
	}
	const known = "$JS.API.DIRECT.GET.HOOKTRAIL_EV.hooktrail.chain.acme.victim-1"
	if got, err := w.victim.Request(known, nil, 5*time.Second); err != nil || string(got.Data) != "secret" {
		t.Errorf("the victim's own lookup: %v, %v", got, err)
	}
	if _, err := w.owner.Conn().Request("$JS.API.STREAM.INFO.HOOKTRAIL_EV", nil, 5*time.Second); err != nil {
		t.Error(err)
	}
	for _, reply := range []string{"hooktrail.ev.other.p.r.custom", "$JS.API.STREAM.PURGE.HOOKTRAIL_EV", "$KV.HOOKTRAIL_CHECKPOINTS.acme"} {
		if err := nc.PublishRequest(known, reply, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	if n, _, _ := heard.Pending(); n > 0 {
		t.Errorf("%s heard %d answers to other clients", who, n)
	}
	if err := heard.Unsubscribe(); err != nil {
		t.Error(err)
	}
}

func (w world) lookUp(t *testing.T, who string, nc *nats.Conn) {
	t.Helper()
	const lookup = "$JS.API.DIRECT.GET.HOOKTRAIL_EV.hooktrail.chain.acme."
	for _, body := range []string{
		`{"last_by_subj":"hooktrail.ev.acme.victim-1.r.custom"}`, `{"seq":1}`, `{"next_by_subj":"hooktrail.ev.>"}`, `{"multi_last":["hooktrail.>"]}`,
		`{"batch":100,"start_time":"2020-01-01T00:00:00Z"}`, `{"up_to_seq":100}`,
	} {
		for _, chain := range []string{"nothing", "victim-1"} {
			got, err := nc.Request(lookup+chain, []byte(body), 200*time.Millisecond)
			if err == nil && strings.HasPrefix(got.Header.Get("Nats-Subject"), "hooktrail.ev.") {
				t.Errorf("%s reads %s with %s", who, got.Header.Get("Nats-Subject"), body)
			}
		}
	}
	got, err := nc.Request(lookup+"*", nil, time.Second)
	reads := err == nil && bytes.Equal(got.Data, []byte("secret"))
	if w.embedded && reads {
		t.Errorf("%s reads the chain of another producer without its id", who)
	}
	if !w.embedded && !reads { // as SECURITY.md says
		t.Errorf("%s: a wildcard within the tenant: %v, %v", who, got, err)
	}
}
