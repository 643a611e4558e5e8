package publisher

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/capture/hookclient"
	"github.com/hooktrail/hooktrail/internal/capture/hookclient/hookclienttest"
	"github.com/hooktrail/hooktrail/internal/capture/hooksocket"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Each tool gets a denial in its format from local hooks, from the publisher of the
// data directory, and over HTTP.
func TestHook_Denies(t *testing.T) {
	_, b := open(t)
	file := hookclienttest.HooksFile(t, hookclienttest.NoRemoval)
	for _, tt := range hookclienttest.Removals {
		t.Run(tt.Name, func(t *testing.T) {
			want := hookclienttest.Output{Stdout: tt.Denied + "\n"}
			dir := t.TempDir()
			if diff := cmp.Diff(want, answerHook(t, tt, hookclient.Options{DataDir: dir, Hooks: file})); diff != "" {
				t.Errorf("here (-want +got):\n%s", diff)
			}
			checkDenied(t, recorded(t, dir))

			dir = t.TempDir()
			r := runServer(t, Options{Broker: b, DataDir: dir, Hooks: parseHooks(t, hookclienttest.NoRemoval)})
			if diff := cmp.Diff(want, answerHook(t, tt, hookclient.Options{DataDir: dir})); diff != "" {
				t.Errorf("by the socket (-want +got):\n%s", diff)
			}
			resp, err := http.Post(r.url+"/v1/hooks/"+tt.Tool+"?event="+tt.Event, "application/json", strings.NewReader(tt.Payload))
			if err != nil {
				t.Fatal(err)
			}
			if status, body := reply(t, resp); status != http.StatusOK || body != tt.Denied+"\n" || resp.Header.Get(hooksocket.ExitHeader) != "0" {
				t.Errorf("posted: got %d %s, %v", status, body, resp.Header)
			}
			r.end(t)
		})
	}
}

// A publisher that hung a second ago is asked again, and its answer ends the pause.
//
//guarantee:hook-hung
func TestHook_AfterHang(t *testing.T) {
	_, b := open(t)
	dir := t.TempDir()
	r := runServer(t, Options{Broker: b, DataDir: dir, Hooks: parseHooks(t, hookclienttest.NoRemoval)})
	file := filepath.Join(dir, "publisher.hung")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	removal := hookclienttest.Removals[0]
	if got := answerHook(t, removal, hookclient.Options{DataDir: dir}); got.Stdout != "" || !strings.Contains(got.Stderr, "not asked again for a moment") {
		t.Errorf("during the pause: got %+v", got)
	}
	ago := time.Now().Add(-time.Second)
	if err := os.Chtimes(file, ago, ago); err != nil {
		t.Fatal(err)
	}
	if got := answerHook(t, removal, hookclient.Options{DataDir: dir}); got.Stdout != removal.Denied+"\n" {
		t.Errorf("after the pause: got %+v", got)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the answer does not end the pause: %v", err)
	}
	r.end(t)
}

func checkDenied(t *testing.T, list []events.Event) {
	t.Helper()
	calls := hookclienttest.Calls(t, list)
	if len(calls) != 1 || calls[0].Verdict != events.VerdictDeny || calls[0].Reason != "Nothing is removed here" || len(calls[0].Executions) != 1 {
		t.Errorf("recorded %+v", calls)
	}
}

// The stricter verdict of local hooks and the publisher wins. The publisher sees the
// call as local hooks changed it, and does not see a call that they deny.
func TestHook_Merges(t *testing.T) {
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
			if got := answerHook(t, hookclienttest.Removals[0], hookclient.Options{DataDir: dir, Hooks: hookclienttest.HooksFile(t, tt.here)}); got.Status != 0 || got.Stderr != "" {
				t.Errorf("got %+v", got)
			}
			r.end(t)
			calls := hookclienttest.Calls(t, recordedIn(t, srv, dir))
			if len(calls) != 1 || string(calls[0].Verdict) != tt.verdict || calls[0].Reason != tt.reason || len(calls[0].Executions) != tt.executions {
				t.Errorf("recorded %+v", calls)
			}
		})
	}
}

// A remote publisher decides and receives the events, for the tenant of the token.
// While it is unreachable, the events stay in the data directory.
func TestHook_Remote(t *testing.T) {
	to := &recorder{}
	var whose []string
	_, b := open(t)
	service, err := NewHookService(parseHooks(t, hookclienttest.NoRemoval), to, Options{DataDir: t.TempDir(), Broker: b})
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
	dir := t.TempDir()
	opts := hookclient.Options{DataDir: dir, Publisher: srv.URL, Token: token.Reveal()}
	if got := answerHook(t, hookclienttest.Removals[0], opts); got.Stdout != hookclienttest.Removals[0].Denied+"\n" || got.Stderr != "" {
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
	if got := answerHook(t, hookclienttest.Removals[0], opts); got.Status != 0 || got.Stdout != "" || !strings.Contains(got.Stderr, "connection refused") {
		t.Errorf("got %+v", got)
	}
	if kept, err := hookclient.Waiting(dir); err != nil || len(kept) != 1 || kept[0].Publisher != srv.URL || kept[0].Events == 0 {
		t.Errorf("kept %v, %v, want events for %s", kept, err, srv.URL)
	}
	if got := recorded(t, dir); len(got) != 0 {
		t.Errorf("the outbox has %d events for another publisher", len(got))
	}
}

// A publisher that hung does not record a payload after its sender has given up, because the sender
// records it too.
//
//guarantee:hook-hung
func TestHook_Late(t *testing.T) {
	for late, want := range map[bool]int{false: http.StatusOK, true: http.StatusRequestTimeout} {
		to := &recorder{}
		service, err := NewHookService(nil, to, Options{DataDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { service.close(context.Background()) })
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/hooks/claude-code", strings.NewReader(hookclienttest.Removals[0].Payload))
		r.SetPathValue("tool", "claude-code")
		wait := time.Minute
		if late {
			wait = -wait
		}
		r.Header.Set(hooksocket.BeginHeader, hooksocket.BeginWithin(wait))
		w := httptest.NewRecorder()
		service.ServeHTTP(w, r)
		if w.Code != want || (len(to.list) == 0) != late {
			t.Errorf("late %v: got status %d and %d events, want status %d", late, w.Code, len(to.list), want)
		}
	}
}
