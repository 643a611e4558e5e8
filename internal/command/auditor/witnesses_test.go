package auditor

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor"
	"github.com/hooktrail/hooktrail/internal/evidence/anchor/witness/witnesstest"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/tiles"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func verifyWitnessed(tb testing.TB, dir, policyFile string, more ...string) (int, verifier.Report) {
	tb.Helper()
	args := append([]string{"verify", "--data-dir", dir, "--tenant", "acme", "--witness-policy", policyFile, "--json"}, more...)
	status, text := command(tb, args...)
	var r verifier.Report
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		tb.Fatalf("%v:\n%s", err, text)
	}
	return status, r
}

//guarantee:witness-fork
func TestWitness_CosignsAndRefusesAFork(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	all, file := auditortest.Watchers(t, dir)
	p := auditortest.Outbox(t, b, "coder", "acme")
	o := auditor.Options{Broker: b, DataDir: dir, Witnesses: auditortest.Policy(t, file)}
	auditortest.PublishRun(t, p, "r1", 5)
	drainWith(t, o)
	older := auditortest.ReadFile(t, auditortest.LedgerFile(t, dir, "acme"))
	olderWitnessed, err := ledger.ReadWitnessed(auditortest.LedgerFile(t, dir, "acme"))
	if err != nil {
		t.Fatal(err)
	}
	auditortest.PublishRun(t, p, "r2", 5)
	drainWith(t, o)
	status, r := verifyWitnessed(t, dir, file)
	w := r.Witnesses
	if status != 0 || w == nil || !w.Met || len(w.By) != 3 || w.Of != 3 || w.Behind != 0 || w.Size != r.Leaves {
		t.Fatalf("got status %d, %+v", status, w)
	}
	// The witnesses also confirm the key.
	if status, r := verifyWitnessed(t, dir, file, noPins(t)...); status != 0 || r.Anchor.State != verifier.AnchorGiven {
		t.Errorf("without a pin: got status %d, %+v", status, r.Anchor)
	}
	if _, text := command(t, "verify", "--data-dir", dir, "--tenant", "acme", "--witness-policy", file); !strings.Contains(text, ", 3 of 3 witnesses\n") {
		t.Errorf("got\n%s", text)
	}

	// An older copy of the ledger is restored and continues differently. No witness cosigns that.
	auditortest.Put(t, auditortest.LedgerFile(t, dir, "acme"), string(older))
	other := auditortest.Connect(t, auditortest.Server(t))
	auditortest.PublishRun(t, auditortest.Outbox(t, other, "coder", "acme"), "r3", 9)
	if err := os.Remove(filepath.Join(auditor.LedgerDir(dir), "auditor.db")); err != nil {
		t.Fatal(err)
	}
	drainWith(t, auditor.Options{Broker: other, DataDir: dir, Witnesses: o.Witnesses})
	for i, one := range all {
		if got := one.Size("hooktrail/acme"); got != uint64(w.Size) {
			t.Errorf("witness %d stands at %d, want %d", i, got, w.Size)
		}
	}
	// The cosigned checkpoint shows the fork.
	if status, r := verifyWitnessed(t, dir, file); status != verifier.ExitDiverged || r.Witnesses.Met {
		t.Errorf("a fork: got status %d, %+v", status, r.Witnesses)
	}
	// With the older cosigned checkpoint, the ledger merely has later records without cosignatures.
	if err := ledger.WriteWitnessed(auditortest.LedgerFile(t, dir, "acme"), olderWitnessed); err != nil {
		t.Fatal(err)
	}
	if r := witnessesLater(t, dir, file); r.Met {
		t.Errorf("a fork behind an older checkpoint: got %+v", r)
	}
}

// witnessesLater returns the verdict about witnesses as if the newest checkpoint were signed after
// [verifier.WitnessLag].
func witnessesLater(tb testing.TB, dir, file string) *verifier.Witnesses {
	tb.Helper()
	signed, err := ledger.ReadWitnessed(auditortest.LedgerFile(tb, dir, "acme"))
	if err != nil {
		tb.Fatal(err)
	}
	then, err := ledger.ReadCheckpoint(signed)
	if err != nil {
		tb.Fatal(err)
	}
	_, r := verifyWitnessed(tb, dir, file)
	newest, err := ledger.ReadCheckpoint([]byte(r.Checkpoint.Note))
	if err != nil {
		tb.Fatal(err)
	}
	newest.Time = newest.Time.Add(2 * verifier.WitnessLag)
	return verifier.NewWitnesses(auditortest.Policy(tb, file), signed, then, newest)
}

//guarantee:witness-fork
func TestWitness_ExitStatus(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	all, file := auditortest.Watchers(t, dir)
	p := auditortest.Outbox(t, b, "coder", "acme")
	auditortest.PublishRun(t, p, "r1", 5)
	o := auditor.Options{Broker: b, DataDir: dir, Witnesses: auditortest.Policy(t, file)}
	want := func(name string, status, by int) {
		t.Helper()
		got, r := verifyWitnessed(t, dir, file)
		if got != status || len(r.Witnesses.By) != by || r.Witnesses.Met != (status == 0) || r.Exit != got {
			t.Errorf("%s: got status %d, %+v, want %d by %d", name, got, r.Witnesses, status, by)
		}
	}
	all[0].Answer(auditortest.Away)
	all[1].Answer(auditortest.Away)
	drainWith(t, o)
	want("OneOfThree", verifier.ExitUnwitnessed, 1)
	all[1].Answer(nil)
	drainWith(t, o)
	want("TwoOfThree", 0, 2)
	all[0].Answer(nil)
	drainWith(t, o)
	want("ThreeOfThree", 0, 3)
	// A checkpoint that does not meet the policy does not replace one that does.
	all[0].Answer(auditortest.Away)
	all[1].Answer(auditortest.Away)
	auditortest.PublishRun(t, p, "r2", 5)
	drainWith(t, o)
	if _, r := verifyWitnessed(t, dir, file); len(r.Witnesses.By) != 3 || r.Witnesses.Behind == 0 {
		t.Errorf("without witnesses: got %+v", r.Witnesses)
	}
	if later := witnessesLater(t, dir, file); later.Met || later.Reason == "" {
		t.Errorf("long without witnesses: got %+v", later)
	}
	if err := os.Remove(filepath.Join(filepath.Dir(auditortest.LedgerFile(t, dir, "acme")), "witnessed.checkpoint")); err != nil {
		t.Fatal(err)
	}
	want("Gone", verifier.ExitUnwitnessed, 0)
	if status, _ := command(t, "verify", "--data-dir", dir, "--tenant", "acme"); status != 0 {
		t.Errorf("nobody asks for witnesses: got status %d", status)
	}
	if status, _ := command(t, "verify", "--data-dir", dir, "--tenant", "acme", "--witness-policy", auditortest.LedgerFile(t, dir, "acme")); status != 1 {
		t.Errorf("no policy: got status %d", status)
	}
}

func TestCommand_WitnessPolicy(t *testing.T) {
	s, dir := auditortest.Server(t), t.TempDir()
	_, file := auditortest.Watchers(t, dir)
	auditortest.PublishRun(t, auditortest.Outbox(t, auditortest.Connect(t, s), "coder", "acme"), "r1", 5)
	serve := []string{"serve", "--drain", "--data-dir", dir, "--nats-url", s.URL(), "--checkpoint-bucket=false", "--witness-policy"}
	nowhere := filepath.Join(t.TempDir(), "policy")
	for name, text := range map[string]string{
		"NoPolicy": "anything", "NoURL": "witness W " + witnesstest.New(t, "w.example").VerifierKey + "\nquorum W\n",
	} {
		auditortest.Put(t, nowhere, text)
		if status, out := command(t, append(serve, nowhere)...); status != 1 {
			t.Errorf("%s: got status %d:\n%s", name, status, out)
		}
	}
	if status, out := command(t, append(serve, file)...); status != 0 {
		t.Fatalf("got status %d:\n%s", status, out)
	}
	if status, r := verifyWitnessed(t, dir, file); status != 0 || len(r.Witnesses.By) != 3 {
		t.Errorf("got status %d, %+v", status, r.Witnesses)
	}
}

// Stored and served checkpoints include the cosignatures.
//
//guarantee:witness-fails
func TestWitness_CosignaturesGoAlong(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	_, file := auditortest.Watchers(t, dir)
	p := auditortest.Outbox(t, b, "coder", "acme")
	auditortest.PublishRun(t, p, "r1", 3)
	e := auditortest.AppendEvent(t, p, "r2", events.RunStarted, "", events.RunStartedData{Title: "test"}).ID
	if err := p.Flush(auditortest.Deadline(t)); err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(t.TempDir(), "checkpoint")
	drainWith(t, auditor.Options{Broker: b, DataDir: dir, Tenant: "acme", Witnesses: auditortest.Policy(t, file), CheckpointFile: anchor.File(kept)})
	three := func(name string, signed []byte) {
		t.Helper()
		if got := auditortest.Policy(t, file).Check(signed); len(got.By) != 3 {
			t.Errorf("%s: got %s:\n%s", name, got, signed)
		}
	}
	three("checkpoint file", auditortest.ReadFile(t, kept))
	to := filepath.Join(t.TempDir(), "log")
	if status, text := command(t, "export", "--data-dir", dir, "--tenant", "acme", "--format", "tiles", "--out", to); status != 0 {
		t.Fatalf("export: status %d:\n%s", status, text)
	}
	three("exported tiles", auditortest.ReadFile(t, filepath.Join(to, "checkpoint")))
	served := httptest.NewRecorder()
	tiles.Handler(auditor.LedgerDir(dir), nil, slog.New(slog.DiscardHandler)).
		ServeHTTP(served, httptest.NewRequest(http.MethodGet, "/hooktrail/acme/checkpoint", nil))
	three("served tiles", served.Body.Bytes())

	proof := filepath.Join(t.TempDir(), "proof")
	if status, text := command(t, "proof", e, "--data-dir", dir, "--tenant", "acme", "--out", proof); status != 0 {
		t.Fatalf("proof: status %d:\n%s", status, text)
	}
	check := []string{"verify", "--data-dir", dir, "--proof", proof, "--witness-policy", file}
	if status, text := command(t, check...); status != 0 || !strings.Contains(text, "3 of 3 witnesses") {
		t.Errorf("proof: got status %d:\n%s", status, text)
	}
	signed := auditortest.ReadFile(t, proof)
	auditortest.Put(t, proof, string(signed[:bytes.LastIndex(signed, []byte("— witness.example/w1"))]))
	if status, text := command(t, check...); status != verifier.ExitUnwitnessed || !strings.Contains(text, "1 of 3 witnesses") {
		t.Errorf("proof without two of them: got status %d:\n%s", status, text)
	}
	// A copied ledger has no checkpoint next to it, so the stored one is used.
	moved := filepath.Join(t.TempDir(), "ledger.db")
	auditortest.Put(t, moved, string(auditortest.ReadFile(t, auditortest.LedgerFile(t, dir, "acme"))))
	if status, r := verifyWitnessed(t, dir, file, "--ledger", moved); status != verifier.ExitUnwitnessed {
		t.Errorf("copied: got status %d, %+v", status, r.Witnesses)
	}
	if status, r := verifyWitnessed(t, dir, file, "--ledger", moved, "--checkpoint-file", kept); status != 0 || len(r.Witnesses.By) != 3 {
		t.Errorf("copied, and kept: got status %d, %+v", status, r.Witnesses)
	}
}
