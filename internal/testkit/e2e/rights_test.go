package e2e

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

var session = filepath.Join("..", "..", "command", "hooktrail", "session", "5e6c1d2a-7b1f-4c55-9a64-0f6b3c2d9e71.jsonl")

// deployed runs a server with deploy/nats.conf, the users of deploy/nats-auth.conf and the changes
// of the test. It returns the address.
func deployed(t *testing.T, change func(*server.Options)) (address string) {
	t.Helper()
	for _, name := range []string{"OWNER", "PUBLISHER", "AUDITOR", "TRACKER", "METRICS", "READER", "DECIDE", "ACME"} {
		t.Setenv(name+"_PASSWORD", strings.ToLower(name)+"-secret")
	}
	accounts, err := os.ReadFile(filepath.Join("..", "..", "..", "deploy", "nats-auth.conf"))
	if err != nil {
		t.Fatal(err)
	}
	return serveConf(t, accounts, change).Addr().String()
}

// serveConf runs a server with deploy/nats.conf and these accounts. Only its addresses and store
// differ from a deployed one.
func serveConf(t *testing.T, accounts []byte, change func(*server.Options)) *server.Server {
	t.Helper()
	dir := t.TempDir()
	settings, err := os.ReadFile(filepath.Join("..", "..", "..", "deploy", "nats.conf"))
	if err == nil {
		err = errors.Join(os.Mkdir(filepath.Join(dir, "auth"), 0o700), os.WriteFile(filepath.Join(dir, "nats.conf"), settings, 0o600),
			os.WriteFile(filepath.Join(dir, "auth", "accounts.conf"), accounts, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	opts, err := server.ProcessConfigFile(filepath.Join(dir, "nats.conf"))
	if err != nil {
		t.Fatal(err)
	}
	opts.Host, opts.Port, opts.HTTPPort, opts.NoSigs, opts.NoLog, opts.StoreDir = "127.0.0.1", server.RANDOM_PORT, 0, true, true, t.TempDir()
	change(opts)
	srv, err := server.NewServer(opts)
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() {
		srv.Shutdown()
		srv.WaitForShutdown()
	})
	if !srv.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server did not start")
	}
	return srv
}

func as(user, address string) string { return "nats://" + user + ":" + user + "-secret@" + address }

// Every service, and a tenant's engine, work with the rights of deploy/nats-auth.conf.
//
//guarantee:tenant-isolated
//guarantee:least-rights
func TestRights_Deployed(t *testing.T) {
	address := deployed(t, func(*server.Options) {})
	dir := t.TempDir()
	at := func(user string, args ...string) []string {
		return append(args, "--data-dir", filepath.Join(dir, user), "--nats-url", as(user, address))
	}
	p := start(t, nil, "auditor", at("auditor", "serve", "--drain")...)
	if status := p.status(t); status != 1 || !strings.Contains(p.stderr.String(), "hooktrail nats init") {
		t.Errorf("without streams: status %d, %s", status, p.stderr.String())
	}
	run(t, 0, "hooktrail", at("owner", "nats", "init")...)
	run(t, 0, "publisher", at("publisher", "import", "--format", "claude-code", "--tenant", "acme", session)...)
	engineOf(t, as("acme", address), filepath.Join(dir, "engine"))
	run(t, 0, "tracker", at("tracker", "serve", "--drain")...)
	run(t, 0, "metrics", at("metrics", "serve", "--drain")...)
	run(t, 0, "auditor", at("auditor", "serve", "--drain")...)
	verdict := run(t, 0, "auditor", "verify", "--tenant", "acme", "--data-dir", filepath.Join(dir, "auditor"))
	if !strings.Contains(verdict, "--require-enrolled only") { // the grants of the engine have no endorsement
		t.Errorf("the producer that is not enrolled looks like a failure: %s", verdict)
	}
	if !strings.Contains(verdict, "VERIFIED") || !strings.Contains(verdict, "COMPLETE") {
		t.Errorf("got %s", verdict)
	}
	if _, err := read(t, filepath.Join(dir, "auditor"), "acme").Summary(t.Context(), "engine-run"); err != nil {
		t.Errorf("what the engine wrote: %v", err)
	}
	// Access records are sent with the rights of the auditor.
	local := []string{"--tenant", "acme", "--data-dir", filepath.Join(dir, "auditor")}
	run(t, 0, "auditor", append([]string{"replay", "--run", "engine-run", "--by", "jdoe"}, local...)...)
	run(t, 0, "auditor", at("auditor", "serve", "--drain")...)
	if used := run(t, 0, "auditor", append([]string{"access"}, local...)...); !strings.Contains(used, "jdoe") || !strings.Contains(used, "replay") {
		t.Errorf("on record are %s", used)
	}
	if issues := run(t, 0, "tracker", "list", "--tenant", "acme", "--data-dir", filepath.Join(dir, "tracker")); !strings.Contains(issues, "followup") {
		t.Errorf("got issues %s", issues)
	}
}

func engineOf(t *testing.T, url, dir string) {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	writeRun(t, nc, dir, "acme")
}

func writeRun(t *testing.T, nc *nats.Conn, dir, tenant string) {
	t.Helper()
	p, err := publish.Open(t.Context(), nc, publish.Options{Dir: dir, Name: "engine", Tenant: tenant, Redactor: publish.NoRedaction})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []events.Kind{events.RunStarted, events.Custom, events.RunFinished} {
		e := events.Event{Source: "/engine", Type: kind.Type(), Run: "engine-run", Subject: "engine-run"}
		if kind == events.RunFinished {
			if err := e.SetData(events.RunFinishedData{Success: true}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := p.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := p.Close(ctx); err != nil {
		t.Error(err)
	}
}

// A service that lacks one right names it without a timeout. Tests in internal/stream/consume and
// pkg/publish cover each right of the stream.
//
//guarantee:right-missing
func TestRights_OneLess(t *testing.T) {
	for _, tt := range []struct {
		user, missing string
		args          []string
	}{
		{"auditor", "$JS.API.STREAM.INFO.HOOKTRAIL_ADV", []string{"serve", "--drain"}},
		{"auditor", "$JS.API.CONSUMER.RESET.HOOKTRAIL_EV.auditor", []string{"serve", "--drain"}},
		{"metrics", "$JS.API.CONSUMER.MSG.NEXT.HOOKTRAIL_EV.metrics", []string{"serve", "--drain"}},
		{"tracker", "$JS.API.STREAM.MSG.GET.HOOKTRAIL_EV", []string{"serve", "--drain"}},
		{"tracker", "hooktrail.ev.*.*.*.issue=2Edecided", []string{"serve", "--drain"}},
		{"publisher", "$JS.API.STREAM.INFO.HOOKTRAIL_EV", []string{"import", "--format", "claude-code", session}},
	} {
		t.Run(tt.user+" "+tt.missing, func(t *testing.T) {
			address := deployed(t, func(o *server.Options) {
				for _, u := range o.Users {
					if u.Username == tt.user {
						u.Permissions.Publish.Allow = slices.DeleteFunc(u.Permissions.Publish.Allow, func(s string) bool { return s == tt.missing })
					}
				}
			})
			dir := t.TempDir()
			run(t, 0, "hooktrail", "nats", "init", "--data-dir", dir, "--nats-url", as("owner", address))
			run(t, 0, "publisher", "import", "--format", "claude-code", "--data-dir", filepath.Join(dir, "owner"), "--nats-url", as("owner", address), session)
			p := start(t, nil, tt.user, append(tt.args, "--data-dir", dir, "--nats-url", as(tt.user, address))...)
			p.says(t, tt.missing)
		})
	}
}

func (p *process) says(t *testing.T, subject string) {
	t.Helper()
	if p.status(t) == 0 {
		t.Error("it ended as if all were well")
	}
	end := subject[strings.LastIndex(subject, "*.")+1:] // tokens after the wildcards
	if out := p.stderr.String(); !strings.Contains(out, broker.ErrPermission.Error()) || !strings.Contains(out, end) {
		t.Errorf("it does not say that %s is refused:\n%s", subject, out)
	}
}

// Services join an embedded server with their keys, and an engine with its tenant's key.
//
//guarantee:tenant-isolated
func TestRights_Embedded(t *testing.T) {
	dir := t.TempDir()
	b, err := broker.Open(t.Context(), broker.Options{DataDir: dir, Auth: broker.AuthRequired, StreamMaxBytes: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	if nc, err := nats.Connect(b.URL()); !errors.Is(err, nats.ErrAuthorization) {
		nc.Close()
		t.Errorf("without credentials: %v", err)
	}
	seed := filepath.Join(t.TempDir(), "acme.nk")
	run(t, 0, "hooktrail", "tenant", "add", "acme", "--out", seed, "--data-dir", dir)
	key, err := nats.NkeyOptionFromSeed(seed)
	if err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect(b.URL(), key)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	writeRun(t, nc, t.TempDir(), "acme")
	run(t, 0, "publisher", "import", "--format", "claude-code", "--data-dir", dir, "--tenant", "acme", session)
	run(t, 0, "tracker", "serve", "--drain", "--data-dir", dir)
	run(t, 0, "metrics", "serve", "--drain", "--data-dir", dir)
	run(t, 0, "auditor", "serve", "--drain", "--data-dir", dir)
	run(t, 0, "auditor", "serve", "--drain", "--data-dir", dir, "--tenant", "acme") // another durable and key
	run(t, 0, "auditor", "verify", "--tenant", "acme", "--data-dir", dir)
	run(t, 0, "hooktrail", "tenant", "remove", "acme", "--data-dir", dir)
}

// TestRights_Local writes as a client without credentials, whose account has only routes.
func TestRights_Local(t *testing.T) {
	dir := t.TempDir()
	b, err := broker.Open(t.Context(), broker.Options{DataDir: dir, StreamMaxBytes: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	nc, err := nats.Connect(b.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	writeRun(t, nc, t.TempDir(), "acme")
	run(t, 0, "auditor", "serve", "--drain", "--data-dir", dir)
	run(t, 0, "auditor", "verify", "--tenant", "acme", "--data-dir", dir)
}

// A local client and an engine request decisions from a service with the rights of a publisher.
func TestRights_Decisions(t *testing.T) {
	dir := t.TempDir()
	b, err := broker.Open(t.Context(), broker.Options{DataDir: dir, StreamMaxBytes: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	hooks := filepath.Join(t.TempDir(), "hooks.yaml")
	if err := os.WriteFile(hooks, []byte("hooks:\n  PreToolUse:\n    - {type: matcher, name: no-env, match: {tool: Write, args: {path: \"**/.env*\"}}, action: block}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	seed := filepath.Join(t.TempDir(), "acme.nk")
	run(t, 0, "hooktrail", "tenant", "add", "acme", "--out", seed, "--data-dir", dir)
	key, err := nats.NkeyOptionFromSeed(seed)
	if err != nil {
		t.Fatal(err)
	}
	serving := start(t, nil, "publisher", "serve", "--listen", "127.0.0.1:0", "--hooks", hooks, "--data-dir", dir)
	for _, who := range []struct {
		name    string
		options []nats.Option
		subject string
	}{
		{"local", nil, "hooktrail.decide.acme"},
		{"engine", []nats.Option{key}, "hooktrail.decide.acme"},
		{"engine that does not know its tenant", []nats.Option{key}, "hooktrail.decide"},
	} {
		nc, err := nats.Connect(b.URL(), who.options...)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		if answer := ask(t, serving, nc, who.subject); !strings.Contains(answer, `"verdict":"deny"`) {
			t.Errorf("%s: got %s", who.name, answer)
		}
	}
}

func ask(t *testing.T, service *process, nc *nats.Conn, subject string) string {
	t.Helper()
	for {
		msg, err := nc.Request(subject, []byte(`{"event":"PreToolUse","tool":"write_file","args":{"path":"a/.env"},"session_id":"s1"}`), 5*time.Second)
		if err == nil {
			return string(msg.Data) + msg.Header.Get("Nats-Service-Error")
		}
		select {
		case <-service.done:
			t.Fatalf("ask on %s: %v; the service ended:\n%s", subject, err, service.stderr.String())
		default:
		}
	}
}
