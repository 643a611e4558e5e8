package broker_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"pgregory.net/rapid"

	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

func engine(t *testing.T, b *broker.Broker, dir, tenant string) *nats.Conn {
	t.Helper()
	_, seed, err := broker.AddTenant(dir, tenant)
	if err != nil {
		t.Fatal(err)
	}
	return engineWith(t, b, seed)
}

func keyOption(t *testing.T, seed []byte) nats.Option {
	t.Helper()
	file := filepath.Join(t.TempDir(), "engine.nk")
	if err := os.WriteFile(file, seed, 0o600); err != nil {
		t.Fatal(err)
	}
	key, err := nats.NkeyOptionFromSeed(file)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func engineWith(t *testing.T, b *broker.Broker, seed []byte) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(b.URL(), keyOption(t, seed), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

func wantStored(t *testing.T, b *broker.Broker, nc *nats.Conn, subject, stored string) {
	t.Helper()
	ack, err := nc.Request(subject, []byte(subject), 5*time.Second)
	if err != nil || !strings.Contains(string(ack.Data), `"seq":`) {
		t.Fatalf("%s: %v, answer %v", subject, err, ack)
	}
	stream, err := b.JetStream().Stream(t.Context(), b.Space().EventStream())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := stream.GetLastMsgForSubject(t.Context(), stored); err != nil || string(got.Data) != subject {
		t.Errorf("%s: is not on %s: %v", subject, stored, err)
	}
}

func refused(t rapid.TB, nc *nats.Conn, what string, do func() error) {
	t.Helper()
	before := nc.LastError()
	if err := do(); err != nil {
		return // the client does not even send it
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := nc.LastError(); !errors.Is(err, nats.ErrPermissionViolation) || err == before { //nolint:errorlint // each report is another
		t.Errorf("%s: got %v, want a permissions violation", what, err)
	}
}

func TestTenant_WritesItsOwn(t *testing.T) {
	dir := t.TempDir()
	b := open(t, broker.Options{DataDir: dir})
	nc := engine(t, b, dir, "acme")
	for subject, stored := range map[string]string{
		"hooktrail.ev.acme.p.r.custom": "hooktrail.ev.acme.p.r.custom",
		"hooktrail.chain.acme.p":       "hooktrail.chain.acme.p",
		"hooktrail.ev.p2.r.custom":     "hooktrail.ev.acme.p2.r.custom", // the route adds its token
		"hooktrail.chain.p2":           "hooktrail.chain.acme.p2",
	} {
		wantStored(t, b, nc, subject, stored)
	}
	for subject, want := range map[string]string{
		"$JS.API.DIRECT.GET.HOOKTRAIL_EV.hooktrail.chain.acme.p": "hooktrail.chain.acme.p",
		"$JS.API.DIRECT.GET.HOOKTRAIL_EV.hooktrail.chain.p2":     "hooktrail.chain.p2",
	} {
		if got, err := nc.Request(subject, nil, 5*time.Second); err != nil || string(got.Data) != want {
			t.Errorf("%s: %v, %v", subject, got, err)
		}
	}
}

//guarantee:tenant-isolated
func TestTenant_DoesNothingElse(t *testing.T) {
	dir := t.TempDir()
	b := open(t, broker.Options{DataDir: dir})
	a, other := engine(t, b, dir, "a"), engine(t, b, dir, "b")
	wantStored(t, b, other, "hooktrail.ev.b.p.r.custom", "hooktrail.ev.b.p.r.custom")
	wantStored(t, b, other, "hooktrail.chain.b.p", "hooktrail.chain.b.p")
	for _, subject := range []string{
		"hooktrail.ev.b.p.r.custom", "hooktrail.chain.b.p", "hooktrail.dlq.auditor", "hooktrail.decide.b",
		"$JS.API.DIRECT.GET.HOOKTRAIL_EV.hooktrail.chain.b.p", "$JS.API.DIRECT.GET.HOOKTRAIL_EV.hooktrail.ev.b.p.r.custom",
		"$JS.API.DIRECT.GET.HOOKTRAIL_EV", "$JS.API.STREAM.MSG.GET.HOOKTRAIL_EV", "$JS.API.STREAM.INFO.HOOKTRAIL_EV",
		"$JS.API.STREAM.NAMES", "$JS.API.STREAM.DELETE.HOOKTRAIL_EV", "$JS.API.STREAM.CREATE.MINE", "$JS.API.INFO",
		"$JS.API.CONSUMER.CREATE.HOOKTRAIL_EV.auditor", "$JS.API.CONSUMER.MSG.NEXT.HOOKTRAIL_EV.auditor",
		"$JS.ACK.HOOKTRAIL_EV.auditor.1.1.1.1.1", "$SYS.REQ.SERVER.PING", "_HTINBOX.auditor.x", "_INBOX.x", "$SRV.PING",
	} {
		refused(t, a, subject, func() error { return a.Publish(subject, nil) })
	}
	for _, subject := range []string{">", "hooktrail.>", "hooktrail.ev.b.>", "$JS.>", "$SYS.>", "_HTINBOX.>", "*.>"} {
		refused(t, a, "subscribe to "+subject, func() error {
			_, err := a.SubscribeSync(subject)
			return err
		})
	}
	// Accounts do not share inboxes, so a receives no message of b.
	sub, err := a.SubscribeSync("_INBOX.>")
	if err != nil {
		t.Fatal(err)
	}
	wantStored(t, b, other, "hooktrail.ev.b.p.r2.custom", "hooktrail.ev.b.p.r2.custom")
	if err := a.Flush(); err != nil {
		t.Fatal(err)
	}
	if n, _, _ := sub.Pending(); n > 0 {
		t.Errorf("heard %d answers of another tenant", n)
	}
}

//guarantee:tenant-isolated
func TestTenant_NastyIDs(t *testing.T) {
	dir := t.TempDir()
	b := open(t, broker.Options{DataDir: dir})
	victim := "a.b"
	engine(t, b, dir, victim)
	part := rapid.StringOfN(rapid.SampledFrom([]rune("ab.*>=$ _-2E\x00ü")), 0, 8, -1)
	conns := map[string]*nats.Conn{}
	rapid.Check(t, func(r *rapid.T) {
		tenant := "t" + part.Draw(r, "tenant")
		nc, ok := conns[tenant]
		if !ok {
			nc = engine(t, b, dir, tenant)
			conns[tenant] = nc
		}
		space := b.Space()
		subject, err := space.Event(tenant, part.Draw(r, "producer"), part.Draw(r, "run"), "custom")
		if err != nil {
			r.Fatal(err)
		}
		wantStored(t, b, nc, subject, subject)
		foreign, err := space.Event(victim, part.Draw(r, "producer"), part.Draw(r, "run"), "custom")
		if err != nil {
			r.Fatal(err)
		}
		refused(r, nc, foreign, func() error { return nc.Publish(foreign, nil) })
		raw := "hooktrail." + rapid.SampledFrom([]string{"ev", "chain"}).Draw(r, "branch") + "." + part.Draw(r, "raw")
		_ = nc.Publish(raw, nil) // refused or its own
		if err := nc.Flush(); err != nil {
			r.Fatal(err)
		}
	})
	token, err := subjects.Token(victim)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := b.JetStream().Stream(t.Context(), b.Space().EventStream())
	if err != nil {
		t.Fatal(err)
	}
	for _, branch := range []string{"ev", "chain"} {
		if msg, err := stream.GetLastMsgForSubject(t.Context(), "hooktrail."+branch+"."+token+".>"); err == nil {
			t.Errorf("somebody wrote %s", msg.Subject)
		}
	}
}

func TestTenant_Removed(t *testing.T) {
	dir := t.TempDir()
	b := open(t, broker.Options{DataDir: dir})
	k, seed, err := broker.AddTenant(dir, "acme")
	if err != nil {
		t.Fatal(err)
	}
	stays := engine(t, b, dir, "acme")
	nc := engineWith(t, b, seed)
	gone := nc.StatusChanged(nats.RECONNECTING, nats.CLOSED)
	if removed, err := broker.RemoveTenant(dir, "acme", k.Key); err != nil || len(removed) != 1 {
		t.Fatalf("removed %v, %v", removed, err)
	}
	select {
	case <-gone:
	case <-time.After(10 * time.Second):
		t.Error("is still connected with a key that was taken back")
	}
	if !stays.IsConnected() {
		t.Error("another key of the tenant was cut off too")
	}
	if _, err := broker.RemoveTenant(dir, "acme", k.Key); !errors.Is(err, broker.ErrNoKey) {
		t.Errorf("again: got %v", err)
	}
	if left, err := broker.Tenants(dir); err != nil || len(left) != 1 {
		t.Errorf("left %v, %v", left, err)
	}
}
