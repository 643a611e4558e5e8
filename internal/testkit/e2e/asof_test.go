package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	evidence "github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
)

func transcriptOf(t *testing.T, id string, calls int) string {
	t.Helper()
	var text strings.Builder
	line := func(n int, kind, message string) {
		fmt.Fprintf(&text, `{"type":%q,"sessionId":%q,"uuid":"%s-%s-%d","timestamp":"2026-01-01T00:00:00Z","message":%s}`+"\n", kind, id, id, kind, n, message)
	}
	line(0, "user", `{"role":"user","content":"go"}`)
	for n := range calls {
		line(n+1, "assistant", fmt.Sprintf(`{"id":"m%d","content":[{"type":"tool_use","id":"t%d","name":"Bash","input":{"command":"ls"}}]}`, n, n))
		line(n+1, "user", fmt.Sprintf(`{"content":[{"type":"tool_result","tool_use_id":"t%d","content":"a"}]}`, n))
	}
	file := filepath.Join(t.TempDir(), id+".jsonl")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

type verdict struct {
	Completeness string
	Events       int
	Runs         struct{ Sealed int }
	AsOf         struct {
		Later *struct{ Events int }
	} `json:"as_of"`
}

type imported struct {
	New     int
	Audited string
}

func tell[T any](t *testing.T, want int, name string, args ...string) (facts T) {
	t.Helper()
	text := run(t, want, name, append(args, "--json")...)
	if err := json.Unmarshal([]byte(text), &facts); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	return facts
}

func up(t *testing.T, dir string) *process {
	t.Helper()
	p := start(t, nil, "hooktrail", "up", "--data-dir", dir, "--http-listen", "127.0.0.1:0")
	waitUntil(t, "all services are ready", func() bool {
		_, health, _ := strings.Cut(p.stdout.String(), "\nhealth ")
		url, _, ok := strings.Cut(strings.TrimSpace(health), "\n")
		if !ok {
			return false
		}
		r, err := http.Get(url)
		if err != nil {
			return false
		}
		return r.Body.Close() == nil && r.StatusCode == http.StatusOK
	})
	return p
}

// A verification right after an import finds all its events in the ledger.
//
//guarantee:import-audited
func TestImportThenVerify(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := up(t, dir)
	events := 0
	for i := range 10 {
		done := tell[imported](t, 0, "publisher", "import", "--data-dir", dir, transcriptOf(t, fmt.Sprint("s", i), 120))
		events += done.New
		verified := tell[verdict](t, 0, "auditor", "verify", "--data-dir", dir)
		if done.Audited != "all" || verified.Completeness != "COMPLETE" || verified.Runs.Sealed != i+1 ||
			verified.Events < events+i+1 || verified.AsOf.Later == nil || verified.AsOf.Later.Events != 0 {
			t.Errorf("%d: imported %+v, %d in all, verified %+v", i, done, events, verified)
		}
	}
	piped := `{"specversion":"1.0","id":"1","source":"s","type":"hooktrail.custom","tenant":"a","runid":"r","time":"2026-01-01T00:00:00Z","data":{"name":"x"}}`
	if text := feed(t, []byte(piped), 0, "publisher", "pipe", "--data-dir", dir, "--json"); !strings.Contains(text, `"audited": "all"`) {
		t.Errorf("pipe:\n%s", text)
	}
	if verified := tell[verdict](t, 0, "auditor", "verify", "--data-dir", dir, "--tenant", "a"); verified.Completeness != "COMPLETE" || verified.Events != 1 {
		t.Errorf("after a pipe: %+v", verified)
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if status := p.status(t); status != 0 {
		t.Errorf("up: exit status %d\n%s", status, p.stderr.String())
	}
}

// A verification during an import counts the events that are not in the ledger. An import without
// an auditor says so, and one with a stopped auditor gives up.
//
//guarantee:import-audited
func TestVerifyDuringImport(t *testing.T) {
	dir, server := t.TempDir(), natstest.Listen(t, t.TempDir())
	in := []string{"--data-dir", dir, "--nats-url", server.URL()}
	imports := func(id string, flags ...string) (imported, string) {
		t.Helper()
		p := start(t, nil, "publisher", append(append([]string{"import", "--json", transcriptOf(t, id, 120)}, in...), flags...)...)
		if status := p.status(t); status != 0 {
			t.Fatalf("import: exit status %d\n%s", status, p.stderr.String())
		}
		var facts imported
		if err := json.Unmarshal([]byte(p.stdout.String()), &facts); err != nil {
			t.Fatal(err)
		}
		return facts, p.stderr.String()
	}
	if facts, text := imports("s0"); facts.Audited != "none" || !strings.Contains(text, "import: no auditor runs: the events are in the stream") {
		t.Errorf("without an auditor: %+v\n%s", facts, text)
	}
	auditor := start(t, nil, "auditor", append([]string{"serve"}, in...)...)
	waitUntil(t, "the auditor runs", func() bool {
		served, err := evidence.IsServed(t.Context(), dir, "default")
		return err == nil && served
	})
	if facts, text := imports("s1"); facts.Audited != "all" || text != "" {
		t.Errorf("with an auditor: %+v\n%s", facts, text)
	}
	if err := auditor.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	facts, text := imports("s2", "--wait-timeout", "100ms")
	if facts.Audited != "behind" || !strings.Contains(text, "the auditor is behind after 100ms") {
		t.Errorf("with a stopped auditor: %+v\n%s", facts, text)
	}
	again, text := imports("s3", "--no-wait")
	if again.Audited != "skipped" || text != "" {
		t.Errorf("without waiting: %+v\n%s", again, text)
	}
	verify := append([]string{"verify", "--wait", "100ms"}, in...)
	verified := tell[verdict](t, 11, "auditor", verify...)
	if want := facts.New + again.New + 2; verified.Completeness != "UNPROVEN" || verified.AsOf.Later.Events != want {
		t.Errorf("during an import: got %+v, want %d later events", verified, want)
	}
	if err := auditor.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if facts, text := imports("s3"); facts.Audited != "all" || facts.New != 0 {
		t.Errorf("again: %+v\n%s", facts, text)
	}
	if verified := tell[verdict](t, 0, "auditor", append([]string{"verify"}, in...)...); verified.Runs.Sealed != 4 {
		t.Errorf("after it: %+v", verified)
	}
}

// An import succeeds without the right to read the auditor's position.
func TestImport_AuditorUnknown(t *testing.T) {
	const missing = "$JS.API.CONSUMER.INFO.HOOKTRAIL_EV.*"
	address := deployed(t, func(o *server.Options) {
		for _, u := range o.Users {
			if u.Username == "publisher" {
				u.Permissions.Publish.Allow = slices.DeleteFunc(u.Permissions.Publish.Allow, func(s string) bool { return s == missing })
			}
		}
	})
	dir := t.TempDir()
	run(t, 0, "hooktrail", "nats", "init", "--data-dir", dir, "--nats-url", as("owner", address))
	p := start(t, nil, "publisher", "import", "--json", "--data-dir", dir, "--nats-url", as("publisher", address), transcriptOf(t, "s", 1))
	if status := p.status(t); status != 0 || !strings.Contains(p.stdout.String(), `"audited": "unknown"`) ||
		!strings.Contains(p.stderr.String(), "it is unknown whether the ledger has them: ") {
		t.Errorf("exit status %d\n%s%s", status, p.stdout.String(), p.stderr.String())
	}
}
