package broker_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

var update = flag.Bool("update", false, "rewrite what deploy has")

const confHeader = `# Accounts and users with passwords instead of keys, as auth/accounts.conf of
# nats.conf: each service has the rights that it needs, and no others. Passwords come
# from the environment of the server. "hooktrail nats creds" writes such a file with keys.
# acme stands for a tenant whose engines connect to NATS themselves.

`

// deployed lists the users of deploy/nats-auth.conf.
func deployed() []broker.ConfUser {
	users := []broker.ConfUser{{Name: "owner", Password: "OWNER_PASSWORD"}}
	for _, role := range subjects.Roles() {
		users = append(users, broker.ConfUser{
			Role: role, Durable: string(role), Name: string(role), Password: strings.ToUpper(string(role)) + "_PASSWORD",
		})
	}
	return append(users, broker.ConfUser{EngineOf: "acme", Name: "acme", Password: "ACME_PASSWORD"})
}

func TestConf_Deployed(t *testing.T) {
	var want bytes.Buffer
	want.WriteString(confHeader)
	if err := broker.WriteConf(&want, subjects.Space{}, deployed()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("..", "..", "..", "deploy", "nats-auth.conf")
	if *update {
		if err := os.WriteFile(path, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.String(), string(got)); diff != "" {
		t.Errorf("deploy/nats-auth.conf (-want +got), go test -update rewrites it:\n%s", diff)
	}
}

// Each key has the same rights as at the embedded server.
//
//guarantee:connections
func TestConf_Keys(t *testing.T) {
	dir := t.TempDir()
	_, seed, err := broker.AddTenant(dir, "a b.*")
	if err != nil {
		t.Fatal(err)
	}
	users, err := broker.ConfUsers(dir, subjects.Space{}, "")
	if err != nil {
		t.Fatal(err)
	}
	var conf bytes.Buffer
	if err := broker.WriteConf(&conf, subjects.Space{}, users); err != nil {
		t.Fatal(err)
	}
	url := serve(t, conf.Bytes())
	key := func(name string) broker.Login {
		return broker.Login{NKey: filepath.Join(dir, "nats", "keys", name+".nk")}
	}
	owner := open(t, broker.Options{URL: url, Login: key("owner")})
	for _, role := range []subjects.Role{subjects.PublisherRole, subjects.AuditorRole, subjects.TrackerRole, subjects.MetricsRole, subjects.ReaderRole} {
		open(t, broker.Options{URL: url, Login: key(string(role)), Role: role})
	}
	began := time.Now()
	_, err = broker.Open(t.Context(), broker.Options{URL: url, Login: key("tracker"), Role: subjects.AuditorRole})
	if !errors.Is(err, broker.ErrPermission) || !strings.Contains(err.Error(), "_INBOX.auditor.") || time.Since(began) > 5*time.Second {
		t.Errorf("with the key of another: got %v after %v, want a refusal at once", err, time.Since(began))
	}
	option := keyOption(t, seed)
	for n := 0; ; n++ {
		nc, err := nats.Connect(url, option)
		if n > 512 || err != nil && n < 100 {
			t.Fatalf("an engine has %d connections, then %v", n, err)
		}
		if err != nil {
			break
		}
		defer nc.Close()
		if n == 0 {
			wantStored(t, owner, nc, "hooktrail.ev.p.r.custom", "hooktrail.ev.a=20b=2E=2A.p.r.custom")
		}
	}
}

func serve(t *testing.T, conf []byte) (url string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(path, conf, 0o600); err != nil {
		t.Fatal(err)
	}
	opts, err := server.ProcessConfigFile(path)
	if err != nil {
		t.Fatalf("%v in\n%s", err, conf)
	}
	return running(t, opts)
}
