package auditor

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// An event that no manifest lists makes a tenant UNPROVEN until it is acknowledged. A later one is
// a new finding.
//
//guarantee:acknowledged
func TestAcknowledge(t *testing.T) {
	s := auditortest.Server(t)
	b, dir := auditortest.Connect(t, s), t.TempDir()
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder", "acme"), "r1", 3)
	ghost := func(sequence uint64) {
		t.Helper()
		e, err := events.New(events.Custom, "/ghost", events.CustomData{Name: "boo"})
		if err != nil {
			t.Fatal(err)
		}
		e.Tenant, e.Producer, e.Sequence, e.Run, e.Subject = "acme", "ghost", sequence, "r1", "r1"
		subject, err := b.Space().Event("acme", "ghost", "r1", events.Custom)
		if err == nil {
			_, err = b.JetStream().Publish(t.Context(), subject, e.Encode())
		}
		if err != nil {
			t.Fatal(err)
		}
		drain(t, b, dir)
	}
	ghost(1)
	at := []string{"--data-dir", dir, "--nats-url", s.URL(), "--silence", "1ns"}
	found := report(t, verifier.ExitIncomplete, append(at, "--allow-acknowledged")...)
	if len(found.Matters) != 1 || found.Matters[0].Kind != verifier.MatterUnproven {
		t.Fatalf("got %+v", found.Matters)
	}
	id := found.Matters[0].ID
	checkStatus(t, verifier.ExitIncomplete, append([]string{"verify", "--tenant", "acme"}, at...),
		"New:          1 finding", id[:12]+"  producer ghost does not prove #1\n")

	give := func(want int, id string, texts ...string) {
		t.Helper()
		checkStatus(t, want, append([]string{"acknowledge", id, "--tenant", "acme", "--by", "jdoe", "--reason", "a test", "--ticket", "OPS-1"}, at...), texts...)
	}
	give(2, id[:3], "too short")
	give(1, "ffffffff", "no finding")
	checkStatus(t, 2, append([]string{"acknowledge", id, "--tenant", "acme"}, at...), "--reason is required")
	give(0, id[:12], "acknowledged: "+id[:12], "order ")
	if _, out := command(t, append([]string{"verify", "--tenant", "acme"}, at...)...); strings.Contains(out, "Redacted") {
		t.Errorf("an acknowledgement redacts nothing:\n%s", out)
	}
	give(1, id, "was acknowledged by jdoe")

	report(t, verifier.ExitIncomplete, at...)
	report(t, verifier.ExitVerified, append(at, "--allow-acknowledged")...)
	report(t, verifier.ExitVerified, append(at, "--allow-acknowledged", "--run", "r1")...)
	checkStatus(t, verifier.ExitVerified, append([]string{"verify", "--tenant", "acme", "--allow-acknowledged"}, at...),
		"Acknowledged: 1 finding, which the exit status is without", "jdoe, ", "ticket OPS-1: a test")
	bundle := filepath.Join(t.TempDir(), "all.zip")
	checkStatus(t, 0, []string{"export", "--tenant", "acme", "--data-dir", dir, "--out", bundle})
	checkStatus(t, verifier.ExitIncomplete, []string{"verify", bundle, "--silence", "1ns"}, "Acknowledged: 1 finding")
	checkStatus(t, verifier.ExitVerified, []string{"verify", bundle, "--silence", "1ns", "--allow-acknowledged"})
	if _, out := command(t, "access", "--tenant", "acme", "--data-dir", dir); !strings.Contains(out, "acknowledge") {
		t.Errorf("access does not list it:\n%s", out)
	}
	if _, out := command(t, "coverage", "--tenant", "acme", "--data-dir", dir); !strings.Contains(out, "jdoe (acknowledge") {
		t.Errorf("coverage does not list it:\n%s", out)
	}

	ghost(2)
	if r := report(t, verifier.ExitIncomplete, append(at, "--allow-acknowledged")...); r.UnacknowledgedCount != 1 {
		t.Errorf("another ghost event: %+v", r.Matters)
	}
}
