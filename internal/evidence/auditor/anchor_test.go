package auditor

import (
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
)

func drainWithFile(tb testing.TB, o Options, file string) {
	tb.Helper()
	o.Drain, o.CheckpointFile = true, anchor.File(file)
	if err := Run(auditortest.Deadline(tb), o); err != nil {
		tb.Fatalf("drain: %v", err)
	}
}

// anchorOnce stores the checkpoint of a tenant at the anchors of o.
func anchorOnce(tb testing.TB, o Options, tenant string) error {
	tb.Helper()
	key, err := writer.OpenKey(KeyDir(o.DataDir))
	if err != nil {
		tb.Fatal(err)
	}
	k := newAnchors(o.withDefaults(), durable, key)
	k.Changed(tenant)
	k.Finish(tb.Context())
	return k.Failure()
}

func TestAnchor_OneFileForAllTenants(t *testing.T) {
	b := auditortest.Connect(t, auditortest.Server(t))
	err := Run(auditortest.Deadline(t), Options{Broker: b, DataDir: t.TempDir(), Drain: true, CheckpointFile: "/tmp/one"})
	if err == nil || !strings.Contains(err.Error(), "{tenant}") {
		t.Errorf("got %v, want an error that says what to put into its name", err)
	}
}
