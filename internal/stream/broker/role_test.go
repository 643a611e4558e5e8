package broker_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

// Each service can use only its own durable and inbox.
//
//guarantee:least-rights
func TestRole_OnlyItsOwn(t *testing.T) {
	dir := t.TempDir()
	open(t, broker.Options{DataDir: dir})
	consumers := map[subjects.Role]string{}
	for _, role := range []subjects.Role{subjects.AuditorRole, subjects.TrackerRole, subjects.MetricsRole, subjects.ReaderRole} {
		consumers[role] = string(role)
	}
	for role := range consumers {
		b := open(t, broker.Options{DataDir: dir, Role: role})
		nc := quiet(b.Conn())
		for other := range consumers {
			info := "$JS.API.CONSUMER.MSG.NEXT.HOOKTRAIL_EV." + string(other)
			if other == role {
				allowed(t, nc, info)
				continue
			}
			refused(t, nc, string(role)+" "+info, func() error { return nc.Publish(info, nil) })
			refused(t, nc, string(role)+" deletes "+string(other), func() error {
				return nc.Publish("$JS.API.CONSUMER.DELETE.HOOKTRAIL_EV."+string(other), nil)
			})
			refused(t, nc, string(role)+" listens to "+string(other), func() error {
				_, err := nc.SubscribeSync("_HTINBOX." + string(other) + ".>")
				return err
			})
		}
		for _, subject := range []string{"hooktrail.ev.a.p.r.custom", "$JS.API.STREAM.DELETE.HOOKTRAIL_EV", "$JS.API.STREAM.UPDATE.HOOKTRAIL_EV", "$JS.API.STREAM.CREATE.X"} {
			refused(t, nc, string(role)+" "+subject, func() error { return nc.Publish(subject, nil) })
		}
	}
}

func quiet(nc *nats.Conn) *nats.Conn {
	nc.SetErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})
	return nc
}

func allowed(t *testing.T, nc *nats.Conn, subject string) {
	t.Helper()
	before := nc.LastError()
	if err := errors.Join(nc.Publish(subject, nil), nc.Flush()); err != nil {
		t.Fatal(err)
	}
	if err := nc.LastError(); err != before { //nolint:errorlint // each report is another
		t.Errorf("%s: %v", subject, err)
	}
}

func TestRole_RunsTheServer(t *testing.T) {
	b := open(t, broker.Options{DataDir: t.TempDir(), Role: subjects.MetricsRole})
	if !b.Embedded() {
		t.Fatal("it does not run the server")
	}
	nc := quiet(b.Conn())
	refused(t, nc, "an event", func() error { return nc.Publish("hooktrail.ev.a.p.r.custom", nil) })
	if _, err := b.JetStream().Stream(t.Context(), "HOOKTRAIL_EV"); err != nil {
		t.Errorf("the streams are not there: %v", err)
	}
}

func TestRole_KeysAreTheOwnersAlone(t *testing.T) {
	dir := t.TempDir()
	open(t, broker.Options{DataDir: dir})
	open(t, broker.Options{DataDir: dir, Role: subjects.AuditorRole, Tenant: "a/b"}) // with a separate durable and key
	if _, _, err := broker.AddTenant(dir, "acme"); err != nil {
		t.Fatal(err)
	}
	found := 0
	err := filepath.WalkDir(filepath.Join(dir, "nats"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || strings.Contains(path, "jetstream") {
			return err
		}
		info, err := d.Info()
		if err == nil && !d.IsDir() && info.Mode().Perm() != 0o600 || err == nil && d.IsDir() && info.Mode().Perm() != 0o700 {
			t.Errorf("%s: mode %v", path, info.Mode())
		}
		found++
		return err
	})
	if err != nil || found < 12 {
		t.Errorf("%d files, %v", found, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "nats", "keys", "auditor==a=2Fb.nk")); err != nil {
		t.Error(err)
	}
}

func TestAuth_Required(t *testing.T) {
	dir := t.TempDir()
	b, err := broker.Open(t.Context(), broker.Options{DataDir: dir, Auth: broker.AuthRequired, StreamMaxBytes: 64 * mib})
	if err != nil {
		t.Fatal(err)
	}
	anonymousAllowed(t, b, false)
	joined := open(t, broker.Options{DataDir: dir, Role: subjects.PublisherRole})
	if _, err := broker.Open(t.Context(), broker.Options{DataDir: dir, Auth: broker.AuthOpen}); err == nil || !strings.Contains(err.Error(), "required") {
		t.Errorf("joined with another mode: %v", err)
	}
	closeBroker(t, joined) // otherwise it could take over the server with the old mode
	closeBroker(t, b)
	b, err = broker.Open(t.Context(), broker.Options{DataDir: dir, Role: subjects.MetricsRole, StreamMaxBytes: 64 * mib})
	if err != nil {
		t.Fatal(err)
	}
	anonymousAllowed(t, b, false)
	closeBroker(t, b)
	anonymousAllowed(t, open(t, broker.Options{DataDir: dir, Auth: broker.AuthOpen}), true)
	if err := os.WriteFile(filepath.Join(dir, "nats", "auth"), []byte("perhaps\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := broker.Open(ctx, broker.Options{DataDir: dir}); err == nil {
		t.Error("took a mode that there is not")
	}
}

// anonymousAllowed requires that the server accepts or rejects clients without credentials, and
// that it rejects wrong ones.
func anonymousAllowed(t *testing.T, b *broker.Broker, taken bool) {
	t.Helper()
	patient := nats.Timeout(30 * time.Second)
	nc, err := nats.Connect(b.URL(), patient)
	if (err == nil) != taken {
		t.Errorf("without credentials: got %v", err)
	}
	if err == nil {
		nc.Close()
	}
	if asksForCredentials(t, b.URL()) == taken {
		t.Errorf("the server asks for credentials: %v, although it accepts clients without them: %v", !taken, taken)
	}
	for name, option := range map[string]nats.Option{
		"password": nats.UserInfo("hooktrail", "wrong"), "no password": nats.UserInfo("hooktrail", ""),
		"user": nats.UserInfo("loopback", ""), "token": nats.Token("x"), "key": unknownKey(t),
	} {
		if nc, err := nats.Connect(b.URL(), option, patient); !errors.Is(err, nats.ErrAuthorization) {
			nc.Close()
			t.Errorf("with a wrong %s: got %v", name, err)
		}
	}
}

// asksForCredentials returns auth_required of the first INFO, which a client reads before it sends
// CONNECT. nats.Conn.AuthRequired may return the value of a second INFO, which is true whenever
// there is an authenticator.
func asksForCredentials(t *testing.T, address string) bool {
	t.Helper()
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp", strings.TrimPrefix(address, "nats://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	body, ok := strings.CutPrefix(line, "INFO ")
	var info server.Info
	if err := json.Unmarshal([]byte(body), &info); !ok || err != nil {
		t.Fatalf("first line of the server: %q, %v", line, err)
	}
	return info.AuthRequired
}

func unknownKey(t *testing.T) nats.Option {
	t.Helper()
	dir := t.TempDir()
	_, seed, err := broker.AddTenant(dir, "somebody")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "seed")
	if err := os.WriteFile(file, seed, 0o600); err != nil {
		t.Fatal(err)
	}
	key, err := nats.NkeyOptionFromSeed(file)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestDial_Owner(t *testing.T) {
	dir := t.TempDir()
	open(t, broker.Options{DataDir: dir, Auth: broker.AuthRequired})
	nc, err := broker.Dial(t.Context(), broker.Options{DataDir: dir, Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	allowed(t, nc, "replay.acme")
}

func TestOpen_FolderOfEverybody(t *testing.T) {
	for _, name := range []string{"nats", "nats/keys", "nats/tenants"} {
		dir := t.TempDir()
		folder := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(folder, 0o700), os.Chmod(folder, 0o777)); err != nil {
			t.Fatal(err)
		}
		b, err := broker.Open(t.Context(), broker.Options{DataDir: dir})
		if err == nil {
			closeBroker(t, b)
			t.Errorf("%s: opened", name)
		} else if !strings.Contains(err.Error(), folder) || !strings.Contains(err.Error(), "chmod") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
