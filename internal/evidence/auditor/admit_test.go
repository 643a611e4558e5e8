package auditor

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/stream/admission"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
)

// drainLimited drains with a new policy, as each start does.
func drainLimited(t *testing.T, b *broker.Broker, dir string, o admission.Options) []string {
	t.Helper()
	present, err := ledger.Tenants(LedgerDir(dir))
	if err != nil {
		t.Fatal(err)
	}
	o.Present = present
	policy := admission.New(o)
	opts := Options{Broker: b, DataDir: dir, Drain: true, Admit: policy.Admit, Policy: policy.Fingerprint()}
	if err := Run(auditortest.Deadline(t), opts); err != nil {
		t.Fatal(err)
	}
	if present, err = ledger.Tenants(LedgerDir(dir)); err != nil {
		t.Fatal(err)
	}
	return present
}

func known(tenants ...string) func() ([]string, error) {
	return func() ([]string, error) { return tenants, nil }
}

// Once a refused tenant is accepted, it gets all its messages. The ledgers of others do not
// change.
//
//guarantee:tenant-flood
func TestRun_RefusesTenants(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	one := auditortest.Outbox(t, b, "one", "one")
	auditortest.PublishRun(t, one, "r1", 5)
	two := auditortest.Outbox(t, b, "two", "two")
	auditortest.PublishRun(t, two, "r1", 5)
	for range 2 { // the second start has nothing new
		if got := drainLimited(t, b, dir, admission.Options{Limit: 1}); !slices.Equal(got, []string{"one"}) {
			t.Fatalf("got ledgers %q", got)
		}
	}
	auditortest.PublishRun(t, two, "r2", 5)
	auditortest.PublishRun(t, one, "r2", 5)
	if got := drainLimited(t, b, dir, admission.Options{Limit: 1}); !slices.Equal(got, []string{"one"}) {
		t.Fatalf("got ledgers %q", got)
	}
	before := auditortest.Verify(t, dir, "one")
	auditortest.WantVerdicts(t, before, verifier.Verified, verifier.Complete)
	if got := drainLimited(t, b, dir, admission.Options{Limit: 1, Known: known("two")}); !slices.Equal(got, []string{"one", "two"}) {
		t.Fatalf("once it is known: got ledgers %q", got)
	}
	r := auditortest.Verify(t, dir, "two")
	auditortest.WantVerdicts(t, r, verifier.Verified, verifier.Complete)
	if r.Runs.Sealed != 2 {
		t.Errorf("tenant two: %+v", r.Runs)
	}
	if after := auditortest.Verify(t, dir, "one"); after.Leaves != before.Leaves || after.SeenAgain != before.SeenAgain {
		t.Errorf("tenant one had %d leaves, %d seen again, and has %d, %d", before.Leaves, before.SeenAgain, after.Leaves, after.SeenAgain)
	}
	info, err := os.Stat(LedgerDir(dir) + "/auditor.refused.json")
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file of refused tenants: %v, %v", info, err)
	}
}

// The flood neither hides nor delays a known tenant. The ledger of a tenant that becomes known
// later is complete too.
//
//guarantee:tenant-flood
func TestRun_TenantFlood(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	flood(t, b, "early")
	late := auditortest.Outbox(t, b, "late", "late")
	auditortest.PublishRun(t, late, "r1", 5)
	got := drainLimited(t, b, dir, admission.Options{Limit: 8, Known: known("late")})
	if len(got) != 9 || !slices.Contains(got, "late") {
		t.Fatalf("got ledgers %q", got)
	}
	for limit, want := range map[int]bool{8: false, 9: true} {
		policy := admission.New(admission.Options{Limit: limit, Known: known("late"), Present: got})
		a, err := newAdmissions(Options{DataDir: dir, Admit: policy.Admit, Policy: policy.Fingerprint()})
		if err != nil {
			t.Fatal(err)
		}
		if a.readAgain() != want {
			t.Errorf("with a limit of %d the next start reads the stream again: %v, want %v", limit, !want, want)
		}
	}
	// Another tenant becomes known. The file does not name it.
	hidden := fmt.Sprintf("early-%d", 2999)
	got = drainLimited(t, b, dir, admission.Options{Limit: 8, Known: known("late", hidden)})
	if len(got) != 10 || !slices.Contains(got, hidden) {
		t.Fatalf("got ledgers %q", got)
	}
	auditortest.WantVerdicts(t, auditortest.Verify(t, dir, "late"), verifier.Verified, verifier.Complete)
	if r := auditortest.Verify(t, dir, hidden); r.Leaves != 1 {
		t.Errorf("%s has %d leaves, want the one that was refused", hidden, r.Leaves)
	}
}

func flood(t *testing.T, b *broker.Broker, prefix string) {
	t.Helper()
	for i := range 3000 {
		subject, err := b.Space().Event(fmt.Sprintf("%s-%d", prefix, i), "p", "r", "custom")
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Conn().Publish(subject, []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Conn().Flush(); err != nil {
		t.Fatal(err)
	}
	auditortest.Until(t, "the flood is stored", func() bool {
		info, err := auditortest.EventStream(t, b).Info(t.Context())
		return err == nil && info.State.Msgs >= 3000
	})
}
