package auditor

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/testkit/race"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type process struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer
	done   chan struct{} // closed at its end
}

func start(tb testing.TB, args ...string) *process {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	p := &process{cmd: exec.Command(self, args...), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), commandEnv+"=1")
	p.cmd.Stderr = &p.stderr
	if err := p.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // its status is in ProcessState
		close(p.done)
	}()
	tb.Cleanup(p.kill)
	return p
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.done
}

func leavesOf(tb testing.TB, dir, tenant string) int64 {
	tb.Helper()
	path, err := ledger.Path(auditor.LedgerDir(dir), tenant)
	if err != nil {
		tb.Fatal(err)
	}
	r, err := ledger.OpenReader(path)
	if err != nil {
		return 0 // the file is not there yet
	}
	c, err := r.Newest(tb.Context())
	if err = errors.Join(err, r.Close()); err != nil {
		return 0
	}
	return c.Size
}

func TestRun_KilledFiveTimes(t *testing.T) {
	total := race.Size(100_000, 10_000)
	if testing.Short() {
		total = 10_000
	}
	s := auditortest.Server(t)
	b, dir := auditortest.Connect(t, s), t.TempDir()
	p := auditortest.Outbox(t, b, "coder", "acme")
	for i := range total - 4 { // without the start, the end, its seal and one more
		if i%1000 == 0 {
			auditortest.AppendEvent(t, p, "r", events.ToolBefore, fmt.Sprint(i), events.ToolBeforeData{Tool: "Bash"})
			continue
		}
		auditortest.AppendEvent(t, p, "r", events.Custom, "", events.CustomData{Name: "x"}) // has no row in an AgentFS file
	}
	auditortest.PublishRun(t, p, "end", 0) // three
	auditortest.AppendEvent(t, p, "", events.Custom, "", events.CustomData{Name: "x"})
	if err := p.Flush(auditortest.Deadline(t)); err != nil {
		t.Fatal(err)
	}

	args := []string{"serve", "--drain", "--data-dir", dir, "--nats-url", s.URL()}
	for kill := range 5 {
		threshold := int64(total * (kill + 1) / 7)
		victim := start(t, args...)
		auditortest.Until(t, fmt.Sprintf("%d leaves", threshold), func() bool {
			select {
			case <-victim.done:
				t.Fatalf("it ended before it was killed: %s", victim.stderr.String())
			default:
			}
			return leavesOf(t, dir, "acme") >= threshold
		})
		victim.kill()
		if held := leavesOf(t, dir, "acme"); held >= int64(total) {
			t.Fatalf("kill %d came too late: %d leaves", kill+1, held)
		}
	}
	last := start(t, args...)
	<-last.done
	if !last.cmd.ProcessState.Success() {
		t.Fatalf("the last one: %s: %s", last.cmd.ProcessState, last.stderr.String())
	}

	clean := t.TempDir()
	drain(t, b, clean)
	got, want := auditortest.Verify(t, dir, "acme"), auditortest.Verify(t, clean, "acme")
	auditortest.WantVerdicts(t, got, verifier.Verified, verifier.Complete)
	if got.Events != int64(total) || got.Checkpoint.Root != want.Checkpoint.Root {
		t.Errorf("got %d events and root %s, want %d and %s", got.Events, got.Checkpoint.Root, total, want.Checkpoint.Root)
	}
}

//guarantee:second-auditor
func TestRun_SecondProcessTakesOver(t *testing.T) {
	s := auditortest.Server(t)
	b, dir := auditortest.Connect(t, s), t.TempDir()
	p := auditortest.Outbox(t, b, "coder", "acme")
	args := []string{"serve", "--data-dir", dir, "--nats-url", s.URL()}
	first := start(t, args...)
	auditortest.PublishRun(t, p, "r1", 2)
	auditortest.Until(t, "the first one's leaves", func() bool { return leavesOf(t, dir, "acme") >= 8 })
	second := start(t, args...)
	auditortest.PublishRun(t, p, "r2", 2)
	auditortest.Until(t, "more of the first one's leaves", func() bool { return leavesOf(t, dir, "acme") >= 16 })
	first.kill()
	auditortest.PublishRun(t, p, "r3", 2)
	auditortest.Until(t, "the second one's leaves", func() bool { return leavesOf(t, dir, "acme") >= 24 })
	if err := second.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	<-second.done
	if !second.cmd.ProcessState.Success() {
		t.Errorf("the second one: %s: %s", second.cmd.ProcessState, second.stderr.String())
	}
	auditortest.WantVerdicts(t, auditortest.Verify(t, dir, "acme"), verifier.Verified, verifier.Complete)
}
