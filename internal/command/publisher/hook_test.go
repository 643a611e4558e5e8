package publisher

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/capture/hookclient"
	"github.com/hooktrail/hooktrail/internal/capture/hookclient/hookclienttest"
	"github.com/hooktrail/hooktrail/internal/capture/hooksocket"
	"github.com/hooktrail/hooktrail/internal/evidence/runtree"
	"github.com/hooktrail/hooktrail/internal/platform/filelock"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Errors in the command line or the payload are reported and recorded. They deny the call only with
// --fail-closed.
//
//guarantee:hook-misconfigured
func TestHook_Misconfigured(t *testing.T) {
	call := hookclienttest.Removals[0].Payload
	tests := []struct {
		name, args, payload, stderr string
		closed                      bool // --fail-closed denies
	}{
		{"NoTool", "", call, "no agent is named", false},
		{"UnknownTool", "emacs", call, `"emacs"`, false},
		{"UnknownFlag", "claude-code --bogus", call, "unknown flag: --bogus", true},
		{"BadTimeout", "claude-code --timeout soon", call, `invalid argument "soon"`, true},
		{"NegativeTimeout", "claude-code --timeout -1s", call, "--timeout -1s: not positive", true},
		{"TooMany", "claude-code a b c", call, "2 arguments too many", true},
		{"NoHooksFile", "claude-code --hooks /does/not/exist.yaml", call, "/does/not/exist.yaml does not exist", true},
		{"BadPublisher", "claude-code --publisher nonsense", call, "--publisher: want an address", true},
		{"Junk", "codex", "nonsense", "not a JSON object", true},
		{"Empty", "codex", "", "not a JSON object", true},
		{"List", "gemini-cli", "[1]", "not a JSON object", true},
		{"TooLong", "codex --timeout 1m", `{"a":"` + strings.Repeat("x", hookclient.MaxPayload) + `"}`, "more than 16777216", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			got := execHook(t, dir, tt.payload, strings.Fields(tt.args)...)
			if got.Status != 0 || got.Stdout != "" || !strings.Contains(got.Stderr, tt.stderr) {
				t.Errorf("got %+v, want %s", got, tt.stderr)
			}
			var problems []string
			for _, e := range recorded(t, dir) {
				var data struct{ Problems []string }
				if err := json.Unmarshal(e.Data, &data); err == nil {
					problems = append(problems, data.Problems...)
				}
			}
			if !strings.Contains(strings.Join(problems, "\n"), tt.stderr) {
				t.Errorf("recorded %q, want %s", problems, tt.stderr)
			}
			got = execHook(t, t.TempDir(), tt.payload, append(strings.Fields(tt.args), "--fail-closed")...)
			denied := strings.Contains(got.Stdout, `"permissionDecision":"deny"`)
			if got.Status == 2 { // an unreadable payload is denied by the exit status
				denied = got.Stdout == "" && strings.Contains(got.Stderr, "Blocked by Hooktrail")
			}
			if denied != tt.closed || got.Status != 0 && tt.payload == call {
				t.Errorf("with --fail-closed: got %+v", got)
			}
		})
	}
}

// Without a publisher, a call is allowed and recorded. With --fail-closed it is denied in the
// format of the tool, and recorded.
//
//guarantee:hook-offline
func TestHook_NoPublisher(t *testing.T) {
	for _, tt := range hookclienttest.Removals {
		t.Run(tt.Name, func(t *testing.T) {
			dir := t.TempDir()
			args := append([]string{tt.Tool}, strings.Fields(tt.Event)...)
			if got := execHook(t, dir, tt.Payload, args...); got != (hookclienttest.Output{}) {
				t.Errorf("got %+v", got)
			}
			const reason = "Blocked by Hooktrail, which fails closed: no publisher is running, and there are no hooks here"
			want := hookclienttest.Output{Stdout: strings.ReplaceAll(tt.Denied, "Nothing is removed here", reason) + "\n"}
			if diff := cmp.Diff(want, execHook(t, dir, tt.Payload, append(args, "--fail-closed")...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			verdicts := map[events.Verdict]int{}
			for _, call := range hookclienttest.Calls(t, recorded(t, dir)) {
				verdicts[call.Verdict]++
			}
			if len(verdicts) != 2 || verdicts[events.VerdictDeny] != 1 {
				t.Errorf("recorded %v", verdicts)
			}
		})
	}
}

// A hung publisher delays a call by a quarter second if no hook decides, and the first
// decision by --timeout. Later decisions do not wait that long, and the record says so.
//
//guarantee:hook-hung
func TestHook_HungPublisher(t *testing.T) {
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, hooksocket.SocketName))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	done := `{"session_id":"s1","cwd":"/p","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_response":{"stdout":"a"},"tool_use_id":"t0"}`
	const (
		quickResponse = 250 * time.Millisecond // as in hookclient
		slack         = 2 * time.Second        // for a busy machine
	)
	began := time.Now()
	if got := execHook(t, dir, done, "claude-code", "--timeout", "1m"); got.Status != 0 || got.Stdout != "" || !strings.Contains(got.Stderr, "publisher does not answer") {
		t.Errorf("got %+v", got)
	}
	if took := time.Since(began); took > quickResponse+slack {
		t.Errorf("what is decided by nobody took %v", took)
	}
	began = time.Now()
	if got := execHook(t, dir, hookclienttest.Removals[0].Payload, "claude-code", "--timeout", "300ms"); got.Status != 0 || got.Stdout != "" {
		t.Errorf("got %+v", got)
	}
	if took := time.Since(began); took < 300*time.Millisecond || took > 300*time.Millisecond+slack {
		t.Errorf("a decision took %v", took)
	}
	began = time.Now()
	for range 3 { // one hang is enough
		got := execHook(t, dir, hookclienttest.Removals[0].Payload, "claude-code", "--timeout", "1m", "--fail-closed")
		if !strings.Contains(got.Stdout, "deny") || !strings.Contains(got.Stdout, "publisher d") {
			t.Errorf("with --fail-closed: got %+v", got)
		}
	}
	if took := time.Since(began); took > quickResponse+slack {
		t.Errorf("later decisions took %v", took)
	}
	kinds, broken := map[events.Kind]int{}, 0
	var tree runtree.Fold
	for _, e := range recorded(t, dir) {
		tree.Add(e)
		kinds[e.Kind()]++
		if e.Kind() == events.Custom && bytes.Contains(e.Data, []byte("is not asked again for a moment")) {
			broken++
		}
	}
	if kinds[events.ToolResult] != 1 || kinds[events.ToolBefore] < 2 || broken == 0 {
		t.Errorf("recorded %v, %d of them about the pause", kinds, broken)
	}
	for _, s := range tree.Trace("s1").Steps {
		for _, row := range s.Rows {
			if want := row.Kind == events.ToolBefore; row.Undecided != want {
				t.Errorf("run show has the row %+v", row)
			}
		}
	}
}

// While another process blocks the shared outbox, events are spooled and redacted. The next command
// moves them to the outbox.
//
//guarantee:hook-offline
func TestHook_StoppedWriter(t *testing.T) {
	dir := t.TempDir()
	const secret = "ghp_" + "R4nd0mL00k1ngT0k3nV4lu3abcdefghij012"
	payload := strings.Replace(hookclienttest.Removals[0].Payload, "rm -rf build/x", "echo "+secret, 1)
	if got := execHook(t, dir, hookclienttest.Removals[1].Payload, "codex"); got != (hookclienttest.Output{}) {
		t.Fatalf("got %+v", got)
	}
	held, err := filelock.Try(filepath.Join(hookclient.SharedOutbox(dir), "append.lock"))
	if err != nil {
		t.Fatal(err)
	}
	if got := execHook(t, dir, payload, "claude-code"); got != (hookclienttest.Output{}) {
		t.Errorf("got %+v", got)
	}
	files, err := filepath.Glob(filepath.Join(hookclient.SpoolDir(dir), "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("spooled %v, %v", files, err)
	}
	if text, err := os.ReadFile(files[0]); err != nil || bytes.Contains(text, []byte(secret)) {
		t.Errorf("spooled as it came: %v", err)
	}
	if err := held.Unlock(); err != nil {
		t.Fatal(err)
	}
	if got := execHook(t, dir, hookclienttest.Removals[2].Payload, "gemini-cli"); got != (hookclienttest.Output{}) {
		t.Errorf("got %+v", got)
	}
	if calls := hookclienttest.Calls(t, recorded(t, dir)); len(calls) != 3 {
		t.Errorf("recorded %+v, want three calls", calls)
	}
	if left, err := os.ReadDir(hookclient.SpoolDir(dir)); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
