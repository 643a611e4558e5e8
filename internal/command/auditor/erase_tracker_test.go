package auditor

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/testkit/sshagent"
	"github.com/hooktrail/hooktrail/internal/tracking/tracker"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// A tracker with another data directory answers an erasure. If it has no key, erase exits with 1.
//
//guarantee:erase-issues
func TestErase_TrackerElsewhere(t *testing.T) {
	s, dir, elsewhere := auditortest.Server(t), t.TempDir(), t.TempDir()
	b := auditortest.Connect(t, s)
	p := auditortest.Outbox(t, b, "coder", "acme")
	for _, run := range []string{"r1", "r2", "r3", "r4"} {
		auditortest.AppendEvent(t, p, run, events.RunStarted, "", events.RunStartedData{RunType: "RESOLVE", Title: "fix it"})
	}
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	track := func(orderKey string) (stop func()) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- tracker.Run(ctx, tracker.Options{Broker: b, DataDir: elsewhere, OrderKey: orderKey}) }()
		stop = sync.OnceFunc(func() {
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
		t.Cleanup(stop)
		return stop
	}
	serveIn(t, b, dir)
	auditortest.Until(t, "the key of the ledger", func() bool {
		_, err := os.Stat(filepath.Join(dir, "keys", "ledger.key"))
		return err == nil
	})
	if status, out, errs := commandBoth(t, "issuer", "endorse", "--for", elsewhere, "--data-dir", dir); status != 0 {
		t.Fatalf("endorse: %s%s", out, errs)
	}
	if err := os.Remove(filepath.Join(elsewhere, "keys", "ledger.pub")); err != nil { // the first tracker has no key
		t.Fatal(err)
	}
	stop := track("")
	auditortest.Until(t, "decisions in the ledger", func() bool { return leavesOf(t, dir, "acme") >= 10 })
	erase := func(want int, run string, texts string, args ...string) {
		t.Helper()
		args = append([]string{"erase", "--data-dir", dir, "--tenant", "acme", "--reason", "x", "--run", run, "--nats-url", s.URL()}, args...)
		status, out, errs := commandBoth(t, args...)
		if status != want || !strings.Contains(out+errs, texts) {
			t.Errorf("%v: got status %d, want %d and %q:\n%s%s", args, status, want, texts, out, errs)
		}
	}
	erase(1, "r1", "--order-key")
	stop()
	erase(0, "r2", "erased: ", "--no-tracker")
	key, err := os.ReadFile(filepath.Join(dir, "keys", "ledger.pub"))
	if err != nil {
		t.Fatal(err)
	}
	track(strings.TrimSpace(string(key)))
	erase(0, "r3", "the tracker has erased its texts")
	t.Run("Approved", func(t *testing.T) {
		_, amy := sshagent.Start(t).Add("amy")
		w := ruleWorld{t, dir, s.URL()}
		w.do(0, "in force", "rule", "approvers", "--approver", "amy="+amy+".pub", "--reason", "four eyes", "--by", "jdoe")
		w.do(0, "proposed", "erase", "--run", "r4", "--reason", "x", "--by", "jdoe")
		w.do(0, "the tracker has erased its texts", "approve", w.proposal(), "--identity", amy)
	})
}

// The answer of a tracker that is not enrolled could be of anybody.
//
//guarantee:erase-issues
func TestErase_TrackerNotEnrolled(t *testing.T) {
	s, dir, elsewhere := auditortest.Server(t), t.TempDir(), t.TempDir()
	b := auditortest.Connect(t, s)
	p := auditortest.Outbox(t, b, "coder", "acme")
	serveIn(t, b, dir)
	auditortest.AppendEvent(t, p, "r1", events.RunStarted, "", events.RunStartedData{RunType: "RESOLVE", Title: "fix it"})
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	auditortest.Until(t, "the ledger", func() bool { return leavesOf(t, dir, "acme") >= 2 })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	key := strings.TrimSpace(string(auditortest.ReadFile(t, filepath.Join(dir, "keys", "ledger.pub"))))
	go func() { ended <- tracker.Run(ctx, tracker.Options{Broker: b, DataDir: elsewhere, OrderKey: key}) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	auditortest.Until(t, "decisions in the ledger", func() bool { return leavesOf(t, dir, "acme") >= 4 })
	status, out, errs := commandBoth(t, "erase", "--data-dir", dir, "--tenant", "acme", "--reason", "x", "--run", "r1", "--nats-url", s.URL(), "--json")
	if status != 1 || !strings.Contains(out, `"tracker": "unproved"`) || !strings.Contains(errs, "auditor issuer endorse") {
		t.Errorf("status %d:\n%s%s", status, out, errs)
	}
}

// The files of a tracker that no longer decides are no tracker. The one that decides is elsewhere and
// keeps its texts, so erase must not succeed.
//
//guarantee:erase-issues
func TestErase_StaleTrackerHere(t *testing.T) {
	t.Parallel() // it waits for an answer that never comes
	s, dir, elsewhere := auditortest.Server(t), t.TempDir(), t.TempDir()
	b := auditortest.Connect(t, s)
	p := auditortest.Outbox(t, b, "coder", "acme")
	serveIn(t, b, dir)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- tracker.Run(ctx, tracker.Options{Broker: b, DataDir: elsewhere}) }()
	auditortest.AppendEvent(t, p, "r1", events.RunStarted, "", events.RunStartedData{RunType: "RESOLVE", Title: "fix it"})
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	auditortest.Until(t, "decisions in the ledger", func() bool { return leavesOf(t, dir, "acme") >= 3 })
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "tracker"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tracker", "tracker.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	status, out, errs := commandBoth(t, "erase", "--data-dir", dir, "--tenant", "acme", "--reason", "x", "--run", "r1", "--nats-url", s.URL(), "--wait", "10s")
	if status != 1 || !strings.Contains(out+errs, "the tracker (tracker-") {
		t.Errorf("status %d:\n%s%s", status, out, errs)
	}
}
