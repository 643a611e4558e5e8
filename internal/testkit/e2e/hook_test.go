package e2e

import (
	"context"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/testkit/race"
	"github.com/hooktrail/hooktrail/internal/testkit/realdata"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// atOnce limits the time of a hook command without services, as a multiple of the time in which the
// same program prints its version. It takes about twice as long, and with a wait of 50 ms more than
// five times.
const atOnce = 4

// captures maps the folder of a tool's recorded payloads to the arguments of its hook command. {}
// stands for the name of the event.
var captures = map[string][]string{
	"claude-code/captured-2.1.329":                   {"claude-code"},
	"codex/captured-0.169.0":                         {"codex"},
	"gemini-cli/captured-0.61.0":                     {"gemini-cli"},
	"copilot-cli/captured-1.0.102/camelCase":         {"copilot-cli", "{}"},
	"copilot-cli/captured-1.0.102/vscode-PascalCase": {"copilot-cli", "{}"},
	"opencode/captured-1.18.33":                      {"opencode", "{}"},
}

func payloads(t testing.TB, capture string) (names []string, bodies [][]byte) {
	t.Helper()
	dir := realdata.Path(t, "hook-payloads", capture)
	order, err := os.ReadFile(filepath.Join(dir, "_order.log"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(order)) {
		for file := range strings.FieldsSeq(line) { // one field is the file, but not always the same one
			if body, err := os.ReadFile(filepath.Join(dir, file+".json")); err == nil {
				names, bodies = append(names, file[:strings.LastIndexByte(file, '.')]), append(bodies, body)
			}
		}
	}
	if len(bodies) == 0 {
		t.Fatalf("%s names no payload", dir)
	}
	return names, bodies
}

func hookArgs(dir, event string, tool []string, more ...string) []string {
	args := append([]string{"hook"}, tool...)
	if i := slices.Index(args, "{}"); i >= 0 {
		args[i] = event
	}
	return append(append(args, "--data-dir", dir), more...)
}

func serving(t testing.TB, dir string, args ...string) *process {
	t.Helper()
	p := start(t, nil, "publisher", append([]string{"serve", "--listen", "127.0.0.1:0", "--data-dir", dir}, args...)...)
	waitUntil(t, "the publisher serves its socket", func() bool {
		select {
		case <-p.done:
			t.Fatalf("the publisher ended: %s", p.stderr.String())
		default:
		}
		conn, err := net.Dial("unix", filepath.Join(dir, "publisher.sock"))
		if err != nil {
			return false
		}
		return conn.Close() == nil
	})
	return p
}

func (p *process) stopCleanly(t testing.TB) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if status := p.status(t); status != 0 {
		t.Fatalf("%v: exit status %d; stderr:\n%s", p.cmd.Args[1:], status, p.stderr.String())
	}
}

// inLedger counts the events in the ledger by kind and id, without those of the outbox itself.
func inLedger(t testing.TB, dir string) map[events.Kind]map[string]int {
	t.Helper()
	run(t, 0, "publisher", "outbox", "flush", "--data-dir", dir)
	run(t, 0, "auditor", "serve", "--drain", "--data-dir", dir)
	run(t, 0, "auditor", "verify", "--data-dir", dir)
	all := map[events.Kind]map[string]int{}
	for entry, err := range read(t, dir, "default").After(context.Background(), -1) {
		if err != nil {
			t.Fatal(err)
		}
		if entry.Manifest() {
			continue
		}
		if entry.Class != ledger.ClassEvent {
			t.Errorf("%s %s: class %s, finding %s", entry.Kind, entry.ID, entry.Class, entry.Finding)
		}
		if all[entry.Kind] == nil {
			all[entry.Kind] = map[string]int{}
		}
		all[entry.Kind][entry.ID]++
	}
	delete(all, events.RunSealed)
	return all
}

func once(t testing.TB, all map[events.Kind]map[string]int) (count int) {
	t.Helper()
	for kind, ids := range all {
		for id, n := range ids {
			if n != 1 {
				t.Errorf("%s %s is in the ledger %d times", kind, id, n)
			}
			count++
		}
	}
	return count
}

// Without any service, hook commands with recorded payloads exit at once and deny nothing. Later
// the ledger has each event once.
//
//guarantee:hook-offline
func TestHook_EverythingDown(t *testing.T) {
	t.Parallel()
	for capture, tool := range captures {
		t.Run(strings.ReplaceAll(capture, "/", "_"), func(t *testing.T) {
			dir := t.TempDir()
			names, bodies := payloads(t, capture)
			var took, idle []time.Duration
			for i, body := range bodies {
				if !race.Enabled {
					began := time.Now()
					run(t, 0, "publisher", "--version")
					idle = append(idle, time.Since(began))
				}
				began := time.Now()
				if out := feed(t, body, 0, "publisher", hookArgs(dir, names[i], tool)...); out != "" {
					t.Errorf("%s: got %s", names[i], out)
				}
				took = append(took, time.Since(began))
			}
			if !race.Enabled {
				checkAtOnce(t, took, idle)
			}
			all := inLedger(t, dir)
			if got := once(t, all); got < len(bodies) {
				t.Errorf("%d events in the ledger, want one for each of %d payloads at least", got, len(bodies))
			}
			if len(all[events.ToolBefore]) == 0 {
				t.Error("no tool call is in the ledger")
			}
		})
	}
}

func checkAtOnce(t *testing.T, took, idle []time.Duration) {
	t.Helper()
	best := math.Inf(1)
	for i := range took {
		best = min(best, float64(took[i])/float64(idle[i]))
	}
	// The best command counts, and only in comparison with the one right before it, because other
	// tests may be running. A wait would affect all commands.
	if best > atOnce {
		t.Errorf("a hook command took %.1f times as long as --version, at best, want at most %d", best, atOnce)
	}
	slices.Sort(took)
	slices.Sort(idle)
	t.Logf("hook commands took %v at best, %v at the median of %d; --version %v and %v",
		took[0], took[len(took)/2], len(took), idle[0], idle[len(idle)/2])
}

const noRemoval = `
hooks:
  PreToolUse:
    - {type: matcher, name: no-rm, match: {tool: Bash, args: {command: "rm *"}}, action: block, message: Nothing is removed here}
`

func hooksFile(t testing.TB) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "hooks.yaml")
	if err := os.WriteFile(file, []byte(noRemoval), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func call(event string, n int) []byte {
	return fmt.Appendf(nil, `{"session_id":"s1","cwd":"/p","hook_event_name":%q,"tool_name":"Bash",`+
		`"tool_input":{"command":"rm -rf build/x"},"tool_response":{"stdout":"ok"},"tool_use_id":"t%d"}`, event, n)
}

// Hook commands run while the publisher is killed and restarted. The ledger has each call once.
//
//guarantee:hook-offline
func TestHook_KilledServer(t *testing.T) {
	t.Parallel()
	const calls, atATime, lives = 60, 6, 5
	dir, hooks := t.TempDir(), hooksFile(t)
	p := serving(t, dir, "--hooks", hooks)
	next := make(chan int)
	denied := make(chan int, calls)
	var wg sync.WaitGroup
	for range atATime {
		wg.Go(func() {
			for n := range next {
				hook := start(t, call("PreToolUse", n), "publisher", hookArgs(dir, "", []string{"claude-code"})...)
				<-hook.done
				if status := hook.cmd.ProcessState.ExitCode(); status != 0 {
					t.Errorf("call %d: exit status %d, %s", n, status, hook.stderr.String())
				}
				if strings.Contains(hook.stdout.String(), "Nothing is removed here") {
					denied <- n
				}
			}
		})
	}
	for n := range calls {
		next <- n
		if n%(calls/lives) == calls/lives/2 {
			p.kill()
			if n < calls-calls/lives { // the last one is not restarted
				p = serving(t, dir, "--hooks", hooks)
			}
		}
	}
	close(next)
	wg.Wait()
	all := inLedger(t, dir)
	once(t, all)
	if got := len(all[events.ToolBefore]); got != calls {
		t.Errorf("%d calls in the ledger, want %d", got, calls)
	}
	if len(denied) == 0 || len(denied) == calls {
		t.Errorf("%d of %d calls were denied, want some: with a publisher, and without", len(denied), calls)
	}
}

// While the publisher is suspended, calls that no hook can deny continue soon, and decisions after
// --timeout. After it resumes, the ledger has each event once.
//
//guarantee:hook-offline
func TestHook_HungServer(t *testing.T) {
	dir := t.TempDir()
	p := serving(t, dir, "--hooks", hooksFile(t))
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	timed := func(event, timeout string, limit time.Duration, more ...string) string {
		began := time.Now()
		hook := start(t, call(event, 1), "publisher", hookArgs(dir, "", []string{"claude-code"}, append(more, "--timeout", timeout)...)...)
		if status := hook.status(t); status != 0 || strings.Contains(hook.stderr.String(), "record:") {
			t.Errorf("%s: exit status %d, %s", event, status, hook.stderr.String())
		}
		if took := time.Since(began); took > limit+3*time.Second { // the machine may be busy
			t.Errorf("%s took %v, want some %v", event, took, limit)
		}
		return hook.stdout.String()
	}
	if out := timed("PostToolUse", "1m", 250*time.Millisecond); out != "" {
		t.Errorf("got %s", out)
	}
	if out := timed("PreToolUse", "400ms", 400*time.Millisecond); out != "" {
		t.Errorf("got %s", out)
	}
	if out := timed("Stop", "1m", 250*time.Millisecond, "--fail-closed"); out != "" {
		t.Errorf("got %s", out)
	}
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	p.stopCleanly(t)
	all := inLedger(t, dir)
	once(t, all)
	if len(all[events.ToolBefore]) != 1 || len(all[events.ToolResult]) != 1 {
		t.Errorf("in the ledger: %v", all)
	}
}
