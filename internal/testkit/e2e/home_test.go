package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
)

// refusedAt checks that a command without --nats-url fails, names the server, and starts none.
func refusedAt(t *testing.T, url, name string, args ...string) {
	t.Helper()
	p := start(t, nil, name, args...)
	if status := p.status(t); status != 1 {
		t.Errorf("%s %v: got exit status %d, want 1; stdout:\n%s", name, args, status, p.stdout.String())
	}
	for _, want := range []string{url, "--nats-url", "HOOKTRAIL_NATS_URL"} {
		if !strings.Contains(p.stderr.String(), want) {
			t.Errorf("%s %v: want %s in\n%s", name, args, want, p.stderr.String())
		}
	}
	if _, err := os.Stat(filepath.Join(args[len(args)-1], "nats")); !os.IsNotExist(err) {
		t.Errorf("%s %v: folder of an embedded server: %v", name, args, err)
	}
}

// An order to an auditor with a NATS server is not given to an empty stream. It has no effect and
// leaves no trace until the command names the server.
//
//guarantee:server-remembered
func TestHome_Orders(t *testing.T) {
	s, dir := natstest.Listen(t, t.TempDir()), t.TempDir()
	server := []string{"--nats-url", s.URL(), "--data-dir", dir}
	serve := start(t, nil, "publisher", "serve", "--listen", "127.0.0.1:0", "--nats-url", s.URL(), "--data-dir", filepath.Join(dir, "publisher"))
	post(t, serve)
	serve.stopCleanly(t)
	run(t, 0, "auditor", append([]string{"serve", "--drain"}, server...)...)
	run(t, 0, "auditor", "verify", "--data-dir", dir)

	for _, args := range [][]string{
		{"hold", "add", "--run", "r", "--reason", "x"},
		{"erase", "--event", "posted", "--reason", "x"},
		{"issuer", "revoke", "UABC", "--all-tenants", "--reason", "x"},
		{"serve", "--drain"},
		{"rebuild"},
	} {
		refusedAt(t, s.URL(), "auditor", append(args, "--data-dir", dir)...)
	}
	if found, err := filepath.Glob(filepath.Join(dir, "keys", "revoked.json")); err != nil || len(found) > 0 {
		t.Errorf("%v, %v: the issuer was revoked", found, err)
	}
	run(t, 0, "auditor", append([]string{"hold", "add", "--run", "r", "--reason", "x"}, server...)...)
	if list := run(t, 0, "auditor", "hold", "list", "--data-dir", dir); strings.Count(list, "run r") != 1 {
		t.Errorf("holds:\n%s", list)
	}
	run(t, 0, "auditor", append([]string{"serve", "--drain"}, server...)...)
	run(t, 0, "auditor", "verify", "--data-dir", dir)
}

// Events that wait for a NATS server are not sent to an empty stream, and the outbox keeps its
// numbers and its key.
//
//guarantee:server-remembered
func TestHome_Outbox(t *testing.T) {
	s, dir := natstest.Listen(t, t.TempDir()), t.TempDir()
	server := []string{"--nats-url", s.URL(), "--data-dir", dir}
	p := start(t, nil, "publisher", append([]string{"serve", "--listen", "127.0.0.1:0"}, server...)...)
	post(t, p)
	s.Stop()
	for _, id := range []string{"second", "third"} {
		body := strings.Replace(event("default"), `"id":"default"`, `"id":"`+id+`"`, 1)
		if got := send(t, addressOf(t, p).String(), "application/cloudevents+json", body); got != http.StatusAccepted {
			t.Fatalf("%s: got status %d", id, got)
		}
	}
	p.kill()

	refusedAt(t, s.URL(), "publisher", "outbox", "flush", "--data-dir", dir)
	refusedAt(t, s.URL(), "publisher", "outbox", "rekey", "serve", "--data-dir", dir)
	refusedAt(t, s.URL(), "publisher", "serve", "--listen", "127.0.0.1:0", "--data-dir", dir)
	refusedAt(t, s.URL(), "publisher", "import", transcriptOf(t, "late", 1), "--data-dir", dir)
	refusedAt(t, s.URL(), "hooktrail", "up", "--http-listen", "127.0.0.1:0", "--data-dir", dir)
	refusedAt(t, s.URL(), "tracker", "serve", "--data-dir", dir)
	refusedAt(t, s.URL(), "metrics", "serve", "--data-dir", dir)
	feed(t, call("PreToolUse", 1), 0, "publisher", hookArgs(dir, "", []string{"claude-code"})...)

	s.Restart(t)
	run(t, 0, "publisher", append([]string{"outbox", "flush"}, server...)...)
	run(t, 0, "auditor", append([]string{"serve", "--drain"}, server...)...)
	if facts := tell[verdict](t, 0, "auditor", "verify", "--data-dir", dir); facts.Completeness != "COMPLETE" || facts.Events < 4 {
		t.Errorf("verify: %+v", facts)
	}
}
