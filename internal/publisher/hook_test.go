package publisher

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/filelock"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Every tool is denied in its dialect, whether hooks decide here, in the publisher
// of the data directory, or where the payload is posted to.
func TestHook_Denies(t *testing.T) {
	_, b := open(t)
	file := hooksFile(t, noRemoval)
	for _, tt := range removals {
		t.Run(tt.name, func(t *testing.T) {
			want := said{Stdout: tt.denied + "\n"}
			args := []string{tt.tool}
			if tt.event != "" {
				args = append(args, tt.event)
			}
			dir := t.TempDir()
			if diff := cmp.Diff(want, hookSays(t, dir, tt.payload, append(args, "--hooks", file)...)); diff != "" {
				t.Errorf("here (-want +got):\n%s", diff)
			}
			checkDenied(t, recorded(t, dir))

			dir = t.TempDir()
			r := runServer(t, Options{Broker: b, DataDir: dir, Hooks: parseHooks(t, noRemoval)})
			if diff := cmp.Diff(want, hookSays(t, dir, tt.payload, args...)); diff != "" {
				t.Errorf("by the socket (-want +got):\n%s", diff)
			}
			resp, err := http.Post(r.url+"/v1/hooks/"+tt.tool+"?event="+tt.event, "application/json", strings.NewReader(tt.payload))
			if err != nil {
				t.Fatal(err)
			}
			if status, body := reply(t, resp); status != http.StatusOK || body != tt.denied+"\n" || resp.Header.Get(ExitHeader) != "0" {
				t.Errorf("posted: got %d %s, %v", status, body, resp.Header)
			}
			r.stop()
			if err := <-r.done; err != nil {
				t.Error(err)
			}
		})
	}
}

// checkDenied checks that one call was recorded, and that it was denied.
func checkDenied(t *testing.T, list []events.Event) {
	t.Helper()
	calls := callsIn(t, list)
	if len(calls) != 1 || calls[0].Verdict != events.VerdictDeny || calls[0].Reason != "Nothing is removed here" || len(calls[0].Executions) != 1 {
		t.Errorf("recorded %+v", calls)
	}
}

// Hooks here and those of the publisher are joined: the strongest verdict wins,
// the publisher is asked about what the hooks here have made of the call, and
// not at all once they deny.
func TestHook_Joins(t *testing.T) {
	hook := func(command, action, message string) string {
		return `{type: matcher, name: ` + action + `, match: {tool: Bash, args: {command: "` + command + `"}}, action: ` + action + `, message: ` + message + `}`
	}
	list := func(hooks ...string) string {
		return "hooks:\n  PreToolUse:\n    - " + strings.Join(hooks, "\n    - ") + "\n"
	}
	patch := `{type: command, name: patch, command: "echo '{\"action\":\"modify\",\"modified_args\":{\"command\":\"ls -l\"}}'"}`
	tests := []struct {
		name, here, there, verdict, reason string
		executions                         int
	}{
		{"DenyThere", list(hook("rm *", "allow", "fine")), list(hook("rm *", "block", "no")), "deny", "no", 2},
		{"DenyHere", list(hook("rm *", "block", "no")), list(hook("rm *", "allow", "fine")), "deny", "no", 1},
		{"AskHere", list(hook("rm *", "ask", "sure?")), list(hook("rm *", "allow", "fine")), "ask", "sure?", 2},
		{"NoneHere", list(hook("ls *", "block", "no")), list(hook("rm *", "allow", "fine")), "allow", "fine", 1},
		{"None", list(hook("ls *", "block", "no")), list(hook("ls *", "block", "no")), "none", "", 0},
		{"PatchedHere", list(patch), list(hook("ls *", "block", "no lists")), "deny", "no lists", 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			srv, b := open(t)
			dir := t.TempDir()
			r := runServer(t, Options{Broker: b, DataDir: dir, Hooks: parseHooks(t, tt.there)})
			if got := hookSays(t, dir, removals[0].payload, "claude-code", "--hooks", hooksFile(t, tt.here)); got.Status != 0 || got.Stderr != "" {
				t.Errorf("got %+v", got)
			}
			r.stop()
			if err := <-r.done; err != nil {
				t.Fatal(err)
			}
			calls := callsIn(t, recordedIn(t, srv, dir))
			if len(calls) != 1 || string(calls[0].Verdict) != tt.verdict || calls[0].Reason != tt.reason || len(calls[0].Executions) != tt.executions {
				t.Errorf("recorded %+v", calls)
			}
		})
	}
}

// What is wrong with the command or the payload is told and recorded, and denies
// nothing, unless that is what was asked for.
func TestHook_Misconfigured(t *testing.T) {
	call := removals[0].payload
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
		{"TooLong", "codex --timeout 1m", `{"a":"` + strings.Repeat("x", maxPayload) + `"}`, "more than 16777216", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			got := hookSays(t, dir, tt.payload, strings.Fields(tt.args)...)
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
			got = hookSays(t, t.TempDir(), tt.payload, append(strings.Fields(tt.args), "--fail-closed")...)
			denied := strings.Contains(got.Stdout, `"permissionDecision":"deny"`)
			if got.Status == 2 { // what cannot be read is denied by the exit status
				denied = got.Stdout == "" && strings.Contains(got.Stderr, "Blocked by Hooktrail")
			}
			if denied != tt.closed || got.Status != 0 && tt.payload == call {
				t.Errorf("with --fail-closed: got %+v", got)
			}
		})
	}
}

// With nobody there, everything goes on and is recorded, once; with --fail-closed
// each tool is denied in its dialect, and that is recorded.
func TestHook_Nobody(t *testing.T) {
	for _, tt := range removals {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			args := append([]string{tt.tool}, strings.Fields(tt.event)...)
			if got := hookSays(t, dir, tt.payload, args...); got != (said{}) {
				t.Errorf("got %+v", got)
			}
			const reason = "Blocked by Hooktrail, which fails closed: no publisher is running, and there are no hooks here"
			want := said{Stdout: strings.ReplaceAll(tt.denied, "Nothing is removed here", reason) + "\n"}
			if diff := cmp.Diff(want, hookSays(t, dir, tt.payload, append(args, "--fail-closed")...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			verdicts := map[events.Verdict]int{}
			for _, call := range callsIn(t, recorded(t, dir)) {
				verdicts[call.Verdict]++
			}
			if len(verdicts) != 2 || verdicts[events.VerdictDeny] != 1 {
				t.Errorf("recorded %v", verdicts)
			}
		})
	}
}

// A publisher that takes the connection and says nothing costs what is allowed:
// little where nothing is decided, --timeout where something is.
func TestHook_HungPublisher(t *testing.T) {
	dir := t.TempDir()
	l, remove, err := listenSocket(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := remove(); err != nil {
			t.Error(err)
		}
		l.Close()
	})
	done := `{"session_id":"s1","cwd":"/p","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_response":{"stdout":"a"},"tool_use_id":"t0"}`
	const slack = 2 * time.Second // this machine may be busy
	began := time.Now()
	if got := hookSays(t, dir, done, "claude-code", "--timeout", "1m"); got.Status != 0 || got.Stdout != "" || !strings.Contains(got.Stderr, "publisher does not answer") {
		t.Errorf("got %+v", got)
	}
	if took := time.Since(began); took > answerSoon+slack {
		t.Errorf("what is decided by nobody took %v", took)
	}
	began = time.Now()
	if got := hookSays(t, dir, removals[0].payload, "claude-code", "--timeout", "300ms"); got.Status != 0 || got.Stdout != "" {
		t.Errorf("got %+v", got)
	}
	if took := time.Since(began); took < 300*time.Millisecond || took > 300*time.Millisecond+slack {
		t.Errorf("a decision took %v", took)
	}
	if got := hookSays(t, dir, removals[0].payload, "claude-code", "--timeout", "50ms", "--fail-closed"); !strings.Contains(got.Stdout, "deny") {
		t.Errorf("with --fail-closed: got %+v", got)
	}
	kinds := map[events.Kind]int{}
	for _, e := range recorded(t, dir) {
		kinds[e.Kind()]++
	}
	if kinds[events.ToolResult] != 1 || kinds[events.ToolBefore] != 2 {
		t.Errorf("recorded %v", kinds)
	}
}

// A publisher elsewhere decides and takes the events, for the tenant of the token;
// while it is away they stay here.
func TestHook_Elsewhere(t *testing.T) {
	to := &recorder{}
	var whose []string
	_, b := open(t)
	service, err := NewHookService(parseHooks(t, noRemoval), to, Options{DataDir: t.TempDir(), Broker: b})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { service.close(context.Background()) })
	handler, token, _ := withTokens(t, to, HandlerOptions{Hooks: service})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		whose = append(whose, r.Header.Get("Authorization"))
		handler.ServeHTTP(w, r)
	}))
	defer srv.Close()
	t.Setenv(tokenVariable, string(token))
	dir := t.TempDir()
	if got := hookSays(t, dir, removals[0].payload, "claude-code", "--publisher", srv.URL); got.Stdout != removals[0].denied+"\n" || got.Stderr != "" {
		t.Errorf("got %+v", got)
	}
	if len(whose) != 2 || whose[0] == "" {
		t.Errorf("%d requests, %q", len(whose), whose)
	}
	checkDenied(t, to.list)
	for _, e := range to.list {
		if e.Tenant != "acme" {
			t.Errorf("event of tenant %q, want acme", e.Tenant)
		}
	}
	srv.Close()
	if got := hookSays(t, dir, removals[0].payload, "claude-code", "--publisher", srv.URL); got.Status != 0 || got.Stdout != "" || !strings.Contains(got.Stderr, "connection refused") {
		t.Errorf("got %+v", got)
	}
	if got := recorded(t, dir); len(got) == 0 {
		t.Error("nothing was kept")
	}
}

// While somebody holds the shared outbox and does not let go, events are kept
// beside it, redacted, and the next command brings them in.
func TestHook_StoppedWriter(t *testing.T) {
	dir := t.TempDir()
	const secret = "ghp_" + "R4nd0mL00k1ngT0k3nV4lu3abcdefghij012"
	payload := strings.Replace(removals[0].payload, "rm -rf build/x", "echo "+secret, 1)
	if got := hookSays(t, dir, removals[1].payload, "codex"); got != (said{}) {
		t.Fatalf("got %+v", got)
	}
	held, err := filelock.Try(filepath.Join(outboxDir(dir, sharedName), "append.lock"))
	if err != nil {
		t.Fatal(err)
	}
	if got := hookSays(t, dir, payload, "claude-code"); got != (said{}) {
		t.Errorf("got %+v", got)
	}
	files, err := filepath.Glob(filepath.Join(spoolDir(dir), "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("spooled %v, %v", files, err)
	}
	if text, err := os.ReadFile(files[0]); err != nil || bytes.Contains(text, []byte(secret)) {
		t.Errorf("spooled as it came: %v", err)
	}
	if err := held.Unlock(); err != nil {
		t.Fatal(err)
	}
	if got := hookSays(t, dir, removals[2].payload, "gemini-cli"); got != (said{}) {
		t.Errorf("got %+v", got)
	}
	if calls := callsIn(t, recorded(t, dir)); len(calls) != 3 {
		t.Errorf("recorded %+v, want three calls", calls)
	}
	if left, err := os.ReadDir(spoolDir(dir)); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestHookService_Refuses(t *testing.T) {
	_, b := open(t)
	r := runServer(t, Options{Broker: b, DataDir: t.TempDir(), Tenant: "acme"})
	tests := []struct {
		name, path, contentType, body string
		want                          int
	}{
		{"UnknownTool", "/v1/hooks/emacs", "application/json", "{}", http.StatusNotFound},
		{"TooLong", "/v1/hooks/codex", "application/json", strings.Repeat("x", maxPayload+1), http.StatusRequestEntityTooLarge},
		{"NoDocument", "/v1/hooks/codex", documentType, "{", http.StatusBadRequest},
		{"AnotherTenant", "/v1/hooks/codex", documentType, `{"point":"tool.before","meta":{"Tenant":"other"}}`, http.StatusForbidden},
		{"Junk", "/v1/hooks/codex", "application/json", "nonsense", http.StatusOK},
	}
	for _, tt := range tests {
		resp, err := http.Post(r.url+tt.path, tt.contentType, strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		if status, body := reply(t, resp); status != tt.want {
			t.Errorf("%s: got %d %s, want %d", tt.name, status, body, tt.want)
		}
	}
	r.stop()
	if err := <-r.done; err != nil {
		t.Error(err)
	}
}
