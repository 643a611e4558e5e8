package auditor

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/evidence/sshkey"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/testkit/sshagent"
)

func both(tb testing.TB, args ...string) (status int, text string) {
	tb.Helper()
	status, out, errs := commandBoth(tb, args...)
	if status == 0 && strings.HasPrefix(out, "{") {
		return status, out
	}
	return status, out + errs
}

// The key moves from one agent key to another, to a file, and back. Everything is signed at each
// place.
//
//guarantee:signer-agent
func TestSigner_Places(t *testing.T) {
	a := sshagent.Start(t)
	one, _ := a.Add("one")
	two, _ := a.Add("two")
	s := auditortest.Server(t)
	b, dir := auditortest.Connect(t, s), t.TempDir()
	p := auditortest.Outbox(t, b, "coder", "acme")
	run := func(name string) {
		t.Helper()
		auditortest.PublishRun(t, p, name, 1)
		if err := auditor.Run(auditortest.Deadline(t), auditor.Options{Broker: b, DataDir: dir, Drain: true, Signer: map[bool]string{true: "ssh-agent:" + one}[name == "r0"]}); err != nil {
			t.Fatal(err)
		}
	}
	run("r0")
	first := publicKey(t, dir)
	if secret, err := os.ReadFile(writer.KeyFile(auditor.KeyDir(dir))); err != nil || string(secret) != "ssh-agent "+first+"\n" {
		t.Fatalf("ledger.key: %q, %v", secret, err)
	}
	if status, out := both(t, "key", "rotate", "--reason", "no place", "--data-dir", dir); status == 0 || !strings.Contains(out, "--signer") {
		t.Errorf("rotate without a place: status %d: %s", status, out)
	}
	last := "r0"
	for _, to := range []string{"ssh-agent:" + two, "file", "ssh-agent:" + one} {
		status, out := both(t, "key", "rotate", "--reason", "move", "--signer", to, "--data-dir", dir, "--json")
		if to == "ssh-agent:"+one {
			if status == 0 || !strings.Contains(out, "before") {
				t.Errorf("a key that was replaced: status %d: %s", status, out)
			}
			three, _ := a.Add("three")
			status, out = both(t, "key", "rotate", "--reason", "move", "--signer", "ssh-agent:"+three, "--data-dir", dir, "--json")
		}
		var done writer.Rotated
		if err := json.Unmarshal([]byte(out), &done); err != nil || status != 0 || done.Key != publicKey(t, dir) {
			t.Fatalf("rotate to %s: status %d: %s", to, status, out)
		}
		if inFile := done.Retired != ""; inFile != strings.HasSuffix(to, one) {
			t.Errorf("rotate to %s: retired %q", to, done.Retired)
		}
		name := "r" + to
		run(name)
		if status, out := both(t, "erase", "--run", last, "--reason", "asked for", "--data-dir", dir, "--tenant", "acme", "--nats-url", s.URL()); status != 0 {
			t.Fatalf("erase: status %d: %s", status, out)
		}
		last = name
	}
	if r := report(t, 0, "--data-dir", dir, "--key", first, "--nats-url", s.URL()); len(r.Keys) != 3 || r.Redacted.Erased == 0 {
		t.Errorf("keys %+v, %d erased", r.Keys, r.Redacted.Erased)
	}
	out := filepath.Join(t.TempDir(), "all.zip")
	if status, text := both(t, "export", "--data-dir", dir, "--tenant", "acme", "--nats-url", s.URL(), "--out", out); status != 0 {
		t.Fatalf("export: status %d: %s", status, text)
	}
	if status, text := both(t, "verify", out, "--key", first); status != 0 || !strings.Contains(text, "COMPLETE") {
		t.Errorf("bundle: status %d: %s", status, text)
	}
	// Without the agent, exports are unsigned and orders fail.
	a.Kill()
	out += ".2"
	if status, text := both(t, "export", "--data-dir", dir, "--tenant", "acme", "--nats-url", s.URL(), "--out", out); status != 0 || !strings.Contains(text, "ssh-agent does not sign") {
		t.Errorf("export without the agent: status %d: %s", status, text)
	}
	if status, text := both(t, "erase", "--run", last, "--reason", "asked for", "--data-dir", dir, "--tenant", "acme", "--nats-url", s.URL()); status == 0 || !strings.Contains(text, "start the agent") {
		t.Errorf("erase without the agent: status %d: %s", status, text)
	}
}

// The agent is killed, locked and stopped while the auditor runs.
//
//guarantee:signer-absent
func TestSigner_AgentGone(t *testing.T) {
	a := sshagent.Start(t)
	a.Add("one")
	s := auditortest.Server(t)
	b, dir := auditortest.Connect(t, s), t.TempDir()
	p := auditortest.Outbox(t, b, "coder", "acme")
	var mu sync.Mutex
	var failure error
	var lag uint64
	ctx, stop := context.WithCancel(auditortest.Deadline(t))
	done := make(chan error)
	go func() {
		done <- auditor.Run(ctx, auditor.Options{Broker: b, DataDir: dir, Signer: "ssh-agent", Progress: func(now consume.Progress) {
			mu.Lock()
			defer mu.Unlock()
			failure, lag = now.Err, now.Lag
		}})
	}()
	await := func(what string, ok func() bool) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				mu.Lock()
				defer mu.Unlock()
				t.Fatalf("%s: %v", what, failure)
			}
		}
	}
	leaves := func() int64 {
		r, err := openLedger(dir, "acme", "")
		if err != nil {
			return 0
		}
		defer func() { _ = r.Close() }()
		c, err := r.Newest(t.Context())
		if err != nil {
			return 0
		}
		return c.Size
	}
	auditortest.PublishRun(t, p, "r0", 1)
	await("first run", func() bool { return leaves() >= 6 })
	for name, around := range map[string][2]func(){
		"killed": {a.Kill, func() { a.Run(); a.Add("one") }},
		"locked": {a.Lock, a.Unlock},
	} {
		around[0]()
		before := leaves()
		auditortest.PublishRun(t, p, name, 1)
		await(name, func() bool {
			mu.Lock()
			defer mu.Unlock()
			return errors.Is(failure, sshkey.ErrAgent) && lag > 0
		})
		if leaves() != before {
			t.Errorf("%s: the ledger grew without a signature", name)
		}
		around[1]()
		await(name+" and back", func() bool { return leaves() >= before+6 })
	}
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	report(t, 0, "--data-dir", dir, "--key", publicKey(t, dir), "--nats-url", s.URL())
}
