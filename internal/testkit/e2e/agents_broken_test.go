package e2e

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hooktrail/hooktrail/internal/testkit/agents"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// broken is a failure of Hooktrail in the middle of a session.
type broken struct {
	name     string
	breaks   func(at *agentTest) error
	mends    func(at *agentTest) error // makes the publisher run on; nil if it is dead
	recorded int                       // calls in the ledger afterwards
	problems bool                      // events say that decisions are missing
}

func signals(s syscall.Signal) func(*agentTest) error {
	return func(at *agentTest) error { return at.publisher.cmd.Process.Signal(s) }
}

var failures = []broken{
	{
		name:   "missing",
		breaks: func(at *agentTest) error { return os.RemoveAll(at.Bin) },
		mends:  func(*agentTest) error { return nil },
	},
	{name: "hung", breaks: signals(syscall.SIGSTOP), mends: signals(syscall.SIGCONT), recorded: 2, problems: true},
	{name: "down", breaks: signals(syscall.SIGKILL), recorded: 2},
}

// In the middle of a session the program of the hooks disappears, or the publisher hangs or is
// killed. Each agent continues, or has its calls denied with --fail-closed.
//
//guarantee:real-agents
//guarantee:program-missing
//guarantee:hook-offline
func TestAgents_Broken(t *testing.T) {
	modules := allAgents(t)
	for i := range agents.All {
		for _, b := range failures {
			for _, mode := range []string{"open", "closed"} {
				t.Run(agents.All[i].Name+"/"+b.name+"/"+mode, func(t *testing.T) {
					t.Parallel()
					at := newAgentTest(t, &agents.All[i], modules, t.TempDir(), "")
					at.breakDown(t, b, mode == "closed")
					if mode == "open" {
						at.outcome(t, "", "")
					} else {
						at.outcome(t, failClosedSays, failClosedSays)
					}
					if b.mends != nil {
						if err := b.mends(at); err != nil {
							t.Fatal(err)
						}
						at.publisher.stopCleanly(t)
					}
					all := inLedger(t, at.data)
					once(t, all)
					if got := len(all[events.ToolBefore]); got != b.recorded {
						t.Errorf("calls in the ledger: got %d, want %d", got, b.recorded)
					}
					if got := len(all[events.Custom]) > 0; b.problems && !got {
						t.Error("no event says that decisions are missing")
					}
				})
			}
		}
	}
}

// breakDown runs a session in which Hooktrail fails before the first call.
func (at *agentTest) breakDown(t *testing.T, b broken, closed bool) {
	t.Helper()
	flags := []string{"--trust", "--timeout", "1s"}
	if closed {
		flags = append(flags, "--fail-closed")
	}
	at.install(t, flags...)
	at.serve(t)
	at.breaks = func() {
		if err := b.breaks(at); err != nil {
			t.Error(err)
		}
	}
	at.run(t)
}

// The disk of the data directory is full in the middle of a session. The publisher still decides, so
// a call that its hooks deny has their reason. Each agent continues, or has the other calls denied
// with --fail-closed. The loss is recorded.
//
//guarantee:real-agents
//guarantee:outbox-full
func TestAgents_FullDisk(t *testing.T) {
	modules := allAgents(t)
	if os.Getenv(namespaceEnv) == "" {
		inNamespace(t)
		return
	}
	for i := range agents.All {
		for _, mode := range []string{"open", "closed"} {
			t.Run(agents.All[i].Name+"/"+mode, func(t *testing.T) {
				t.Parallel()
				// Small events still fit into the last page of a file.
				page := " # " + strings.Repeat("a page is full ", 600)
				at := newAgentTest(t, &agents.All[i], modules, t.TempDir(), page)
				smallDisk(t, at.data)
				filler := filepath.Join(at.data, "filler")
				at.breakDown(t, broken{breaks: func(*agentTest) error { return fill(filler) }}, mode == "closed")
				if mode == "open" {
					at.outcome(t, "", noTouchSays)
				} else {
					at.outcome(t, failClosedSays, noTouchSays)
				}
				if err := os.Remove(filler); err != nil {
					t.Fatal(err)
				}
				at.publisher.kill()
				run(t, 0, "publisher", "outbox", "flush", "--data-dir", at.data)
				run(t, 0, "auditor", "serve", "--drain", "--data-dir", at.data)
				if out := run(t, 11, "auditor", "verify", "--data-dir", at.data); !strings.Contains(out, "the producer recorded it") {
					t.Errorf("verify: want a gap that the producer recorded, got\n%s", out)
				}
			})
		}
	}
}

// smallDisk mounts a disk with little more than the space that the broker demands.
func smallDisk(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=256m"); err != nil {
		t.Fatalf("mount a small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
}

// fill writes a file until the disk is full.
func fill(name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, zeros{})
	if errors.Is(err, unix.ENOSPC) {
		err = nil
	}
	return errors.Join(err, f.Close())
}

type zeros struct{}

// Read implements io.Reader.
func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
