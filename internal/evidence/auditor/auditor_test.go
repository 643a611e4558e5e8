package auditor

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/platform/hookid"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func TestRun_DrainThenVerify(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	p := auditortest.Outbox(t, b, "coder", "acme")
	auditortest.PublishRun(t, p, "r1", 50)
	auditortest.PublishRun(t, p, "r2", 3)
	drain(t, b, dir)
	r := auditortest.Verify(t, dir, "acme")
	auditortest.WantVerdicts(t, r, verifier.Verified, verifier.Complete)
	if r.Runs.Sealed != 2 || r.Events != 102+2+8 {
		t.Errorf("got %+v", r)
	}
	files, err := filepath.Glob(filepath.Join(AgentFSDir(dir), "*__acme.db"))
	if err != nil || len(files) == 0 {
		t.Errorf("agentfs files: got %q, %v", files, err)
	}
	drain(t, b, dir)
	if again := auditortest.Verify(t, dir, "acme"); again.Checkpoint.Root != r.Checkpoint.Root || again.Leaves != r.Leaves {
		t.Errorf("a second drain changed the ledger: %+v", again)
	}
}

func TestRun_SetsApartWhatIsNoEvent(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	p := auditortest.Outbox(t, b, "coder", "acme")
	auditortest.PublishRun(t, p, "r1", 1)
	forged := auditortest.AppendEvent(t, p, "r1", events.Custom, "", events.CustomData{Name: "x"})
	if err := p.Flush(auditortest.Deadline(t)); err != nil {
		t.Fatal(err)
	}
	send := func(subject string, data []byte) {
		t.Helper()
		if _, err := b.JetStream().Publish(auditortest.Deadline(t), subject, data); err != nil {
			t.Fatal(err)
		}
	}
	mine, err := b.Space().Event("acme", "intruder", "r1", events.ToolBefore)
	if err != nil {
		t.Fatal(err)
	}
	send(mine, []byte("{"))
	send(mine, forged.Encode()) // another producer's event
	send(strings.TrimSuffix(b.Space().AllEvents(), ">")+"no.address", []byte("x"))
	auditortest.PublishRun(t, p, "r2", 1)
	drain(t, b, dir)
	r := auditortest.Verify(t, dir, "acme")
	if r.Integrity != verifier.Verified || r.SetApart != 2 {
		t.Errorf("got %+v", r)
	}
	if r.Findings[0].Finding != ledger.FindingUndecodable || r.Findings[1].Finding != ledger.FindingMisaddressed {
		t.Errorf("findings: got %+v", r.Findings)
	}
	if nobody := auditortest.Verify(t, dir, ""); nobody.Integrity != verifier.Verified || nobody.SetApart != 1 {
		t.Errorf("what belongs to nobody: got %+v", nobody)
	}
}

func TestRun_GoesOnFromAnyState(t *testing.T) {
	b := auditortest.Connect(t, auditortest.Server(t))
	for _, tenant := range []string{"acme", "other"} {
		auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder-"+tenant, tenant), "r1", 20)
	}
	half := t.TempDir()
	drain(t, b, half)
	older := auditortest.ReadFile(t, auditortest.LedgerFile(t, half, "acme"))
	for _, tenant := range []string{"acme", "other"} {
		auditortest.PublishRun(t, auditortest.Outbox(t, b, "again-"+tenant, tenant), "r2", 20)
	}
	whole := t.TempDir()
	drain(t, b, whole)
	for name, change := range map[string]func(dir string) error{
		"Position":    func(dir string) error { return os.Remove(filepath.Join(LedgerDir(dir), "auditor.db")) },
		"Ledger":      func(dir string) error { return os.RemoveAll(filepath.Dir(auditortest.LedgerFile(t, dir, "acme"))) },
		"EmptyLedger": func(dir string) error { return os.Truncate(auditortest.LedgerFile(t, dir, "acme"), 0) },
		"OlderLedger": func(dir string) error { return os.WriteFile(auditortest.LedgerFile(t, dir, "acme"), older, 0o600) },
		"Everything": func(dir string) error {
			return errors.Join(os.RemoveAll(LedgerDir(dir)), os.RemoveAll(AgentFSDir(dir)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			if name == "OlderLedger" { // it was signed by the other key
				if err := os.RemoveAll(dir); err != nil {
					t.Fatal(err)
				}
				if err := os.CopyFS(dir, os.DirFS(half)); err != nil {
					t.Fatal(err)
				}
				drain(t, b, dir)
			}
			if err := change(dir); err != nil {
				t.Fatal(err)
			}
			drain(t, b, dir)
			for _, tenant := range []string{"acme", "other"} {
				got, want := auditortest.Verify(t, dir, tenant), auditortest.Verify(t, whole, tenant)
				auditortest.WantVerdicts(t, got, verifier.Verified, verifier.Complete)
				if got.Checkpoint.Root != want.Checkpoint.Root {
					t.Errorf("tenant %s: the root is another one", tenant)
				}
			}
		})
	}
}

func TestRun_StreamReplaced(t *testing.T) {
	s := auditortest.Server(t)
	b, dir := auditortest.Connect(t, s), t.TempDir()
	p := auditortest.Outbox(t, b, "coder", "acme")
	auditortest.PublishRun(t, p, "r1", 5)
	drain(t, b, dir)
	if err := b.JetStream().DeleteStream(auditortest.Deadline(t), b.Space().EventStream()); err != nil {
		t.Fatal(err)
	}
	s.EnsureStreams(t)
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "new", "acme"), "r2", 5)
	drain(t, b, dir)
	r := auditortest.Verify(t, dir, "acme")
	if r.Integrity != verifier.Verified || len(r.Streams) != 2 || len(r.Gaps) != 0 || r.Runs.Sealed != 2 {
		t.Errorf("got %+v", r)
	}
}

func TestRun_RefusesDamage(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	p := auditortest.Outbox(t, b, "coder", "acme")
	auditortest.PublishRun(t, p, "r1", 5)
	drain(t, b, dir)
	path := auditortest.LedgerFile(t, dir, "acme")
	data := auditortest.ReadFile(t, path)
	if err := os.WriteFile(path, bytes.Replace(data, []byte("\nhooktrail/acme\n"), nil, 1), 0o600); err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(KeyDir(dir), "ledger.key")
	secret := auditortest.ReadFile(t, key)
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	if err := Run(auditortest.Deadline(t), Options{Broker: b, DataDir: dir, Drain: true}); err == nil || !strings.Contains(err.Error(), "key") {
		t.Errorf("without the key: got %v", err)
	}
	if err := os.WriteFile(key, secret, 0o600); err != nil {
		t.Fatal(err)
	}
	broken := bytes.ReplaceAll(data, []byte("hooktrail/acme"), []byte("hooktrail/acmE"))
	if err := os.WriteFile(path, broken, 0o600); err != nil {
		t.Fatal(err)
	}
	auditortest.PublishRun(t, p, "r2", 5)
	if err := Run(auditortest.Deadline(t), Options{Broker: b, DataDir: dir, Drain: true}); !errors.Is(err, ledger.ErrDamaged) {
		t.Errorf("a ledger that was altered: got %v", err)
	}
}

func TestRun_RenewsTheCheckpointOfASilentLedger(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	p := auditortest.OutboxWith(t, b, "coder", "acme", 0)
	auditortest.PublishRun(t, p, "r1", 1)
	auditortest.AppendEvent(t, p, "crashed", events.RunStarted, "", events.RunStartedData{})
	if err := p.Flush(auditortest.Deadline(t)); err != nil {
		t.Fatal(err)
	}
	drain(t, b, dir)
	r := auditortest.Verify(t, dir, "acme")
	auditortest.WantVerdicts(t, r, verifier.Verified, verifier.Complete)
	if diff := cmp.Diff([]string{"crashed"}, r.Open); diff != "" {
		t.Errorf("open (-want +got):\n%s", diff)
	}
	later := func() time.Time { return time.Now().Add(40 * time.Minute) }
	for range 3 { // the first renewal suffices
		if err := Run(auditortest.Deadline(t), Options{Broker: b, DataDir: dir, Drain: true, Now: later}); err != nil {
			t.Fatal(err)
		}
	}
	after := auditortest.Verify(t, dir, "acme")
	auditortest.WantVerdicts(t, after, verifier.Verified, verifier.Unsealed)
	if after.Checkpoints != r.Checkpoints+1 {
		t.Errorf("checkpoints: got %d, want one more than %d", after.Checkpoints, r.Checkpoints)
	}
}

func TestRun_ManyTenants(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	p := auditortest.Outbox(t, b, "shared", "")
	const tenants = 40 // more than stay open
	for round := range 2 {
		for i := range tenants {
			e, err := events.New(events.RunStarted, "/test", events.RunStartedData{})
			if err != nil {
				t.Fatal(err)
			}
			e.Run, e.Tenant = "r", "tenant."+string(rune('0'+round))+strings.Repeat("x", i)
			if _, err := p.Append(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := p.Flush(auditortest.Deadline(t)); err != nil {
		t.Fatal(err)
	}
	drain(t, b, dir)
	got, err := ledger.Tenants(LedgerDir(dir))
	if err != nil || len(got) != 2*tenants {
		t.Fatalf("got %d tenants, %v, want %d", len(got), err, 2*tenants)
	}
	auditortest.WantVerdicts(t, auditortest.Verify(t, dir, got[0]), verifier.Verified, verifier.Complete)
}

func TestRun_LogsNoPayload(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	p := auditortest.Outbox(t, b, "coder", "acme")
	auditortest.AppendEvent(t, p, "r1", events.Custom, "", events.CustomData{Name: "sesame"})
	mine, err := b.Space().Event("acme", "intruder", "r1", events.ToolBefore)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.JetStream().Publish(auditortest.Deadline(t), mine, []byte("sesame")); err != nil {
		t.Fatal(err)
	}
	if err := p.Flush(auditortest.Deadline(t)); err != nil {
		t.Fatal(err)
	}
	var logged bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if err := Run(auditortest.Deadline(t), Options{Broker: b, DataDir: dir, Drain: true, Logger: logger}); err != nil {
		t.Fatal(err)
	}
	if text := logged.String(); strings.Contains(text, "sesame") || !strings.Contains(text, "undecodable") {
		t.Errorf("got %s", text)
	}
}

func TestRun_InterruptedDrainIsNoCleanEnd(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder", "acme"), "r1", 5)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, drain := range []bool{true, false} {
		err := Run(ended, Options{Broker: b, DataDir: dir, Drain: drain})
		if drain && !errors.Is(err, context.Canceled) || !drain && err != nil {
			t.Errorf("drain %v: got %v", drain, err)
		}
	}
}

// An auditor may make the first ledger of a data directory before a hook or publisher runs there.
// The ids of hook events are secret nevertheless.
//
//guarantee:id-secret
func TestRun_MakesTheKeyOfHookIDs(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder", "acme"), "r1", 2)
	drain(t, b, dir)
	if tenants, err := ledger.Tenants(LedgerDir(dir)); err != nil || len(tenants) == 0 {
		t.Fatalf("the auditor made no ledger: %v, %v", tenants, err)
	}
	if key, err := hookid.Key(dir); err != nil || key == nil {
		t.Errorf("got the key %x, %v", key, err)
	}
}
