package auditor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// endorse --for makes no keys in a folder that is not a data directory.
func TestIssuerEndorse_OtherFolder(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	auditortest.Put(t, filepath.Join(other, "notes.txt"), "x")
	missing := filepath.Join(other, "typo")
	for _, folder := range []string{other, missing, filepath.Join(other, "notes.txt")} {
		status, _, errs := commandBoth(t, "issuer", "endorse", "--for", t.TempDir(), "--for", folder, "--data-dir", dir)
		if status != 2 || !strings.Contains(errs, "--for "+folder) {
			t.Errorf("%s: status %d: %s", folder, status, errs)
		}
	}
	if entries, err := os.ReadDir(other); err != nil || len(entries) != 1 {
		t.Errorf("the folder has %v, %v", entries, err)
	}
}

// The first grants of two producers carry no endorsement, or one by a replaced key. The auditor sends
// new ones for the outboxes of its data directory. Another producer is enrolled when it sends again.
//
//guarantee:enrolled
func TestIssuerEndorse_Later(t *testing.T) {
	s := auditortest.Server(t)
	b, dir, other := auditortest.Connect(t, s), t.TempDir(), t.TempDir()
	outbox := func(name, of, tenant, run string) {
		t.Helper()
		p, err := publish.Open(auditortest.Deadline(t), b.Conn(), publish.Options{
			Dir: filepath.Join(of, "outbox", name), Name: name, Tenant: tenant, Redactor: publish.NoRedaction, Issuer: broker.Issuer(of, nil),
		})
		if err != nil {
			t.Fatal(err)
		}
		publishText(t, p, run, "jane", "text")
		if err := p.Close(auditortest.Deadline(t)); err != nil {
			t.Fatal(err)
		}
	}
	verify := func(want int, tenant string) {
		t.Helper()
		drain(t, b, dir)
		if status, out := command(t, "verify", "--require-enrolled", "--data-dir", dir, "--tenant", tenant, "--nats-url", s.URL()); status != want {
			t.Errorf("tenant %s: status %d, want %d:\n%s", tenant, status, want, out)
		}
	}
	outbox("import", dir, "acme", "r1") // before the first start of the auditor, which sends the grant
	verify(0, "acme")

	endorse := func() { order(t, 0, nil, "issuer", "endorse", "--for", other, "--data-dir", dir) }
	endorse()
	rotateOnce(t, dir)
	drain(t, b, dir)
	outbox("pipe", other, "beta", "r1") // with the endorsement by the old key
	verify(11, "beta")
	endorse()
	verify(11, "beta")
	outbox("pipe", other, "beta", "r2")
	verify(0, "beta")
	var list []Issuer
	order(t, 0, &list, "issuer", "list", "--data-dir", other)
	if len(list) != 1 || !strings.HasPrefix(publicKey(t, dir), list[0].EndorsedBy+"+") || time.Since(list[0].Endorsed) > time.Minute {
		t.Errorf("issuer of the publisher: %+v", list)
	}
}
