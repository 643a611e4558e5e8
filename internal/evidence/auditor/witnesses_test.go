package auditor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor"
	"github.com/hooktrail/hooktrail/internal/evidence/anchor/witness/witnesstest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/evidence/tiles"
	"github.com/hooktrail/hooktrail/internal/evidence/transparency"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// watchers are three witnesses that watch the ledgers of acme and other below dir,
// and the policy that asks for two of them.
func watchers(tb testing.TB, dir string) (all []*witnesstest.Witness, policyFile string) {
	tb.Helper()
	key, err := writer.OpenKey(KeyDir(dir))
	if err != nil {
		tb.Fatal(err)
	}
	text := "# three operators\n"
	for i := range 3 {
		w := witnesstest.New(tb, fmt.Sprintf("witness.example/w%d", i))
		w.Watch(tb, "hooktrail/acme", key.Public())
		w.Watch(tb, "hooktrail/other", key.Public())
		text += fmt.Sprintf("witness W%d %s %s\n", i, w.VerifierKey, w.URL)
		all = append(all, w)
	}
	policyFile = filepath.Join(tb.TempDir(), "witnesses.policy")
	put(tb, policyFile, text+"group two 2 W0 W1 W2\nquorum two\n")
	return all, policyFile
}

func policy(tb testing.TB, file string) *transparency.Policy {
	tb.Helper()
	p, err := anchor.ReadPolicy(file)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func away(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusServiceUnavailable) }

// verifyWitnessed runs verify with a policy and returns its report.
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

func TestWitness_CosignsAndRefusesAFork(t *testing.T) {
	b, dir := connect(t, server(t)), t.TempDir()
	all, file := watchers(t, dir)
	p := outbox(t, b, "coder", "acme")
	run := func() error {
		return Run(deadline(t), Options{Broker: b, DataDir: dir, Drain: true, Witnesses: policy(t, file)})
	}
	publishRun(t, p, "r1", 5)
	if err := run(); err != nil {
		t.Fatal(err)
	}
	older := readFile(t, ledgerFile(t, dir, "acme"))
	olderWitnessed, err := ledger.ReadWitnessed(ledgerFile(t, dir, "acme"))
	if err != nil {
		t.Fatal(err)
	}
	publishRun(t, p, "r2", 5)
	if err := run(); err != nil {
		t.Fatal(err)
	}
	status, r := verifyWitnessed(t, dir, file)
	w := r.Witnesses
	if status != 0 || w == nil || !w.Met || len(w.By) != 3 || w.Of != 3 || w.Behind != 0 || w.Size != r.Leaves {
		t.Fatalf("got status %d, %+v", status, w)
	}
	if _, text := command(t, "verify", "--data-dir", dir, "--tenant", "acme", "--witness-policy", file); !strings.Contains(text, ", 3 of 3 witnesses\n") {
		t.Errorf("got\n%s", text)
	}

	// An older copy comes back, with all that lies beside it, and another history
	// is written behind it with the key: no witness cosigns it.
	put(t, ledgerFile(t, dir, "acme"), string(older))
	other := connect(t, server(t))
	publishRun(t, outbox(t, other, "coder", "acme"), "r3", 9)
	if err := os.Remove(filepath.Join(LedgerDir(dir), "auditor.db")); err != nil {
		t.Fatal(err)
	}
	if err := Run(deadline(t), Options{Broker: other, DataDir: dir, Drain: true, Witnesses: policy(t, file)}); err != nil {
		t.Fatal(err)
	}
	for i, one := range all {
		if got := one.Size("hooktrail/acme"); got != uint64(w.Size) {
			t.Errorf("witness %d stands at %d, want %d", i, got, w.Size)
		}
	}
	// The cosigned checkpoint of the honest history is still there, and tells.
	if status, r := verifyWitnessed(t, dir, file); status != verifier.ExitDiverged || r.Witnesses.Met {
		t.Errorf("a fork: got status %d, %+v", status, r.Witnesses)
	}
	// Who puts the older one in its place has a ledger that went on without witnesses.
	if err := ledger.WriteWitnessed(ledgerFile(t, dir, "acme"), olderWitnessed); err != nil {
		t.Fatal(err)
	}
	if r := witnessesLater(t, dir, file); r.Met {
		t.Errorf("a fork behind an older checkpoint: got %+v", r)
	}
}

// witnessesLater is what verify says of witnesses once the ledger is older than
// [verifier.WitnessLag].
func witnessesLater(tb testing.TB, dir, file string) *verifier.Witnesses {
	tb.Helper()
	signed, err := ledger.ReadWitnessed(ledgerFile(tb, dir, "acme"))
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
	return verifier.NewWitnesses(policy(tb, file), signed, then, newest)
}

func TestWitness_ExitStatus(t *testing.T) {
	b, dir := connect(t, server(t)), t.TempDir()
	all, file := watchers(t, dir)
	p := outbox(t, b, "coder", "acme")
	publishRun(t, p, "r1", 5)
	drain := func() {
		t.Helper()
		if err := Run(deadline(t), Options{Broker: b, DataDir: dir, Drain: true, Witnesses: policy(t, file)}); err != nil {
			t.Fatal(err)
		}
	}
	want := func(name string, status, by int) {
		t.Helper()
		got, r := verifyWitnessed(t, dir, file)
		if got != status || len(r.Witnesses.By) != by || r.Witnesses.Met != (status == 0) || r.Exit != got {
			t.Errorf("%s: got status %d, %+v, want %d by %d", name, got, r.Witnesses, status, by)
		}
	}
	all[0].Answer(away)
	all[1].Answer(away)
	drain()
	want("OneOfThree", verifier.ExitUnwitnessed, 1)
	all[1].Answer(nil)
	drain()
	want("TwoOfThree", 0, 2)
	all[0].Answer(nil)
	drain()
	want("ThreeOfThree", 0, 3)
	// What meets the policy is not given up for what does not.
	all[0].Answer(away)
	all[1].Answer(away)
	publishRun(t, p, "r2", 5)
	drain()
	if _, r := verifyWitnessed(t, dir, file); len(r.Witnesses.By) != 3 || r.Witnesses.Behind == 0 {
		t.Errorf("without witnesses: got %+v", r.Witnesses)
	}
	if later := witnessesLater(t, dir, file); later.Met || later.Reason == "" {
		t.Errorf("long without witnesses: got %+v", later)
	}
	if err := os.Remove(filepath.Join(filepath.Dir(ledgerFile(t, dir, "acme")), "witnessed.checkpoint")); err != nil {
		t.Fatal(err)
	}
	want("Gone", verifier.ExitUnwitnessed, 0)
	if status, _ := command(t, "verify", "--data-dir", dir, "--tenant", "acme"); status != 0 {
		t.Errorf("nobody asks for witnesses: got status %d", status)
	}
	if status, _ := command(t, "verify", "--data-dir", dir, "--tenant", "acme", "--witness-policy", ledgerFile(t, dir, "acme")); status != 1 {
		t.Errorf("no policy: got status %d", status)
	}
}

func TestCommand_WitnessPolicy(t *testing.T) {
	s, dir := server(t), t.TempDir()
	_, file := watchers(t, dir)
	publishRun(t, outbox(t, connect(t, s), "coder", "acme"), "r1", 5)
	serve := []string{"serve", "--drain", "--data-dir", dir, "--nats-url", s.URL(), "--checkpoint-bucket=false", "--witness-policy"}
	nowhere := filepath.Join(t.TempDir(), "policy")
	for name, text := range map[string]string{
		"NoPolicy": "anything", "NoURL": "witness W " + witnesstest.New(t, "w.example").VerifierKey + "\nquorum W\n",
	} {
		put(t, nowhere, text)
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

// Witnesses that hang hold nothing up, and are told.
func TestWitness_HangingOnesHoldNothingUp(t *testing.T) {
	b, dir := connect(t, server(t)), t.TempDir()
	all, file := watchers(t, dir)
	for _, w := range all {
		w.Answer(func(_ http.ResponseWriter, req *http.Request) {
			_, _ = io.Copy(io.Discard, req.Body) // only then is it told that the client has gone
			<-req.Context().Done()
		})
	}
	publishRun(t, outbox(t, b, "coder", "acme"), "r1", 50)
	ctx, cancel := context.WithCancel(deadline(t))
	defer cancel()
	o := Options{Broker: b, DataDir: dir, Witnesses: policy(t, file), Progress: func(p consume.Progress) {
		if p.Done > 0 && p.Lag == 0 {
			cancel() // it has got there, whatever the witnesses do
		}
	}}.withDefaults()
	if err := Run(ctx, o); err != nil {
		t.Fatal(err)
	}
	wantVerdicts(t, verify(t, dir, "acme"), verifier.Verified, verifier.Complete)
	for _, one := range all {
		one.Answer(away)
	}
	before := all[0].Hits()
	o.NoBucket = true
	if err := keepOnce(t, o, "acme"); err == nil || !strings.Contains(err.Error(), "0 of 3 witnesses") || !strings.Contains(err.Error(), "W2") {
		t.Errorf("got %v", err)
	}
	// One that fails is left alone for a while: the second round does not ask it.
	if n := all[0].Hits() - before; n != 1 {
		t.Errorf("it was asked %d times, want once", n)
	}
}

// Whoever keeps or serves the newest checkpoint has the cosignatures with it.
func TestWitness_CosignaturesGoAlong(t *testing.T) {
	b, dir := connect(t, server(t)), t.TempDir()
	_, file := watchers(t, dir)
	p := outbox(t, b, "coder", "acme")
	publishRun(t, p, "r1", 3)
	e := appendEvent(t, p, "r2", events.RunStarted, "", events.RunStartedData{Title: "test"}).ID
	if err := p.Flush(deadline(t)); err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(t.TempDir(), "checkpoint")
	o := Options{Broker: b, DataDir: dir, Tenant: "acme", Drain: true, Witnesses: policy(t, file), CheckpointFile: anchor.File(kept)}
	if err := Run(deadline(t), o); err != nil {
		t.Fatal(err)
	}
	three := func(name string, signed []byte) {
		t.Helper()
		if got := policy(t, file).Check(signed); len(got.By) != 3 {
			t.Errorf("%s: got %s:\n%s", name, got, signed)
		}
	}
	three("checkpoint file", readFile(t, kept))
	to := filepath.Join(t.TempDir(), "log")
	if status, text := command(t, "export", "--data-dir", dir, "--tenant", "acme", "--format", "tiles", "--out", to); status != 0 {
		t.Fatalf("export: status %d:\n%s", status, text)
	}
	three("exported tiles", readFile(t, filepath.Join(to, "checkpoint")))
	served := httptest.NewRecorder()
	tiles.Handler(LedgerDir(dir), nil, slog.New(slog.DiscardHandler)).
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
	signed := readFile(t, proof)
	put(t, proof, string(signed[:bytes.LastIndex(signed, []byte("— witness.example/w1"))]))
	if status, text := command(t, check...); status != verifier.ExitUnwitnessed || !strings.Contains(text, "1 of 3 witnesses") {
		t.Errorf("proof without two of them: got status %d:\n%s", status, text)
	}
	// A ledger that was copied has no checkpoint beside it; what was kept will do.
	moved := filepath.Join(t.TempDir(), "ledger.db")
	put(t, moved, string(readFile(t, ledgerFile(t, dir, "acme"))))
	if status, r := verifyWitnessed(t, dir, file, "--ledger", moved); status != verifier.ExitUnwitnessed {
		t.Errorf("copied: got status %d, %+v", status, r.Witnesses)
	}
	if status, r := verifyWitnessed(t, dir, file, "--ledger", moved, "--checkpoint-file", kept); status != 0 || len(r.Witnesses.By) != 3 {
		t.Errorf("copied, and kept: got status %d, %+v", status, r.Witnesses)
	}
}
