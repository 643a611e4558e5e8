package auditor

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

func remote(t *testing.T, b *broker.Broker, issuer string) string {
	t.Helper()
	return remoteOf(t, b, issuer, "acme")
}

func remoteOf(t *testing.T, b *broker.Broker, issuer, tenant string) string {
	t.Helper()
	p, err := publish.Open(auditortest.Deadline(t), b.Conn(), publish.Options{
		Dir: t.TempDir(), Name: "remote", Tenant: tenant, Redactor: publish.NoRedaction, Issuer: issuer,
	})
	if err != nil {
		t.Fatal(err)
	}
	publishText(t, p, "run-"+p.Stats().Producer, "jane", "text")
	if err := p.Close(auditortest.Deadline(t)); err != nil {
		t.Fatal(err)
	}
	return p.Stats().Producer
}

//guarantee:enrolled
func TestIssuer_Command(t *testing.T) {
	s := auditortest.Server(t)
	b, dir := auditortest.Connect(t, s), t.TempDir()
	machine := t.TempDir() // of a publisher without an auditor
	path, err := broker.IssuerKey(machine)
	if err != nil {
		t.Fatal(err)
	}
	issuer, err := publish.OpenIssuer(path)
	if err != nil {
		t.Fatal(err)
	}
	first := remote(t, b, path)
	drain(t, b, dir)
	at := []string{"--data-dir", dir, "--tenant", "acme", "--nats-url", s.URL()}
	verify := func(want int, missing ...string) {
		t.Helper()
		status, out := command(t, append([]string{"verify", "--json", "--require-enrolled"}, at...)...)
		var r verifier.Report
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatal(err)
		}
		if status != want || !slices.Equal(r.NotEnrolled, append([]string{}, missing...)) {
			t.Fatalf("exit %d, not enrolled %v, want %d and %v", status, r.NotEnrolled, want, missing)
		}
		if c := covered(t, want, append([]string{"--require-enrolled"}, at...)...); !slices.Equal(c.NotEnrolled, r.NotEnrolled) {
			t.Errorf("coverage: not enrolled %v, want %v", c.NotEnrolled, r.NotEnrolled)
		}
	}
	verify(11, first)
	if _, out := command(t, append([]string{"verify"}, at...)...); !strings.Contains(out, "Enrolled:     0 of 1 producer; not enrolled: "+first+
		" (its grant does not count: its issuer is unknown)") {
		t.Errorf("report: %s", out)
	}

	order(t, 2, nil, append([]string{"issuer", "add", "UABC", "--reason", "none"}, at...)...)
	order(t, 0, nil, append([]string{"issuer", "add", issuer.Public(), "--reason", "build machine"}, at...)...)
	verify(0)
	order(t, 0, nil, append([]string{"issuer", "revoke", issuer.Public(), "--reason", "stolen", "--all-tenants"}, at...)...)
	second := remote(t, b, path)
	drain(t, b, dir)
	verify(11, second)

	var list []Issuer
	order(t, 0, &list, "issuer", "list", "--data-dir", machine)
	if len(list) != 1 || list[0].Key != issuer.Public() {
		t.Errorf("issuer of the other data directory: %+v", list)
	}
	order(t, 0, &list, append([]string{"issuer", "list"}, at...)...)
	if len(list) != 3 || list[0].Action != "" || list[1].Action != events.AuditIssuer || list[2].Action != events.AuditRevoke || list[2].Key != issuer.Public() {
		t.Errorf("issuers: %+v", list)
	}
	var endorsed struct {
		Endorsement string `json:"endorsement"`
	}
	order(t, 0, &endorsed, append([]string{"issuer", "endorse", issuer.Public()}, at...)...)
	key, _, err := ledger.ReadVerifier(filepath.Join(dir, "keys"))
	if err != nil {
		t.Fatal(err)
	}
	keys := ledger.LinkKeys(key, "acme", nil)
	if e, err := ledger.OpenEndorsement(endorsed.Endorsement, keys.At(0)); err != nil || !e.Covers(issuer.Public(), "acme") || e.Covers(issuer.Public(), "other") {
		t.Errorf("endorsement %+v, %v", e, err)
	}
	order(t, 2, nil, append([]string{"issuer", "endorse", "UABC"}, at...)...)
}

// A revocation in all ledgers reaches those that begin later, and there the grants that arrived
// before its order.
//
//guarantee:enrolled
func TestIssuer_RevokedInLaterLedgers(t *testing.T) {
	s := auditortest.Server(t)
	b, dir := auditortest.Connect(t, s), t.TempDir()
	path, err := broker.IssuerKey(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	issuer, err := publish.OpenIssuer(path)
	if err != nil {
		t.Fatal(err)
	}
	remote(t, b, "")
	drain(t, b, dir)
	var endorsed struct {
		Endorsement string `json:"endorsement"`
	}
	order(t, 0, &endorsed, "issuer", "endorse", issuer.Public(), "--data-dir", dir)
	if err := os.WriteFile(path+publish.EndorsedEnding, []byte(endorsed.Endorsement), 0o600); err != nil {
		t.Fatal(err)
	}
	reason := func(tenant string) string {
		t.Helper()
		_, out := command(t, "verify", "--json", "--data-dir", dir, "--tenant", tenant, "--nats-url", s.URL())
		var r verifier.Report
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(r.Producers, func(p verifier.Producer) bool { return strings.HasPrefix(p.Name, "remote") })
		return r.Producers[i].GrantFault
	}
	remoteOf(t, b, path, "before")
	drain(t, b, dir)
	change := []string{issuer.Public(), "--reason", "stolen", "--all-tenants", "--data-dir", dir, "--tenant", "acme", "--nats-url", s.URL()}
	order(t, 0, nil, append([]string{"issuer", "revoke"}, change...)...)
	remoteOf(t, b, path, "later")
	drain(t, b, dir) // begins the ledger
	drain(t, b, dir) // gives the order
	drain(t, b, dir) // has it
	if got := reason("later"); got != ledger.IssuerRevoked {
		t.Errorf("in a later ledger: %q, want %q", got, ledger.IssuerRevoked)
	}
	if got := reason("before"); got != "" {
		t.Errorf("enrolled before: %q", got)
	}
	order(t, 0, nil, append([]string{"issuer", "add"}, change...)...)
	remoteOf(t, b, path, "last")
	for range 3 {
		drain(t, b, dir)
	}
	if got := reason("last"); got != "" {
		t.Errorf("after it was added again: %q", got)
	}
}
