package publisher

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/capture/hookclient"
	"github.com/hooktrail/hooktrail/internal/capture/hookclient/hookclienttest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Every tool is denied in its dialect, whether hooks decide here, in the publisher
// of the data directory, or where the payload is posted to.
func TestHook_Denies(t *testing.T) {
	_, b := open(t)
	file := hookclienttest.HooksFile(t, hookclienttest.NoRemoval)
	for _, tt := range hookclienttest.Removals {
		t.Run(tt.Name, func(t *testing.T) {
			want := hookclienttest.Said{Stdout: tt.Denied + "\n"}
			args := []string{tt.Tool}
			if tt.Event != "" {
				args = append(args, tt.Event)
			}
			dir := t.TempDir()
			if diff := cmp.Diff(want, hookSays(t, dir, tt.Payload, append(args, "--hooks", file)...)); diff != "" {
				t.Errorf("here (-want +got):\n%s", diff)
			}
			checkDenied(t, recorded(t, dir))

			dir = t.TempDir()
			r := runServer(t, Options{Broker: b, DataDir: dir, Hooks: parseHooks(t, hookclienttest.NoRemoval)})
			if diff := cmp.Diff(want, hookSays(t, dir, tt.Payload, args...)); diff != "" {
				t.Errorf("by the socket (-want +got):\n%s", diff)
			}
			resp, err := http.Post(r.url+"/v1/hooks/"+tt.Tool+"?event="+tt.Event, "application/json", strings.NewReader(tt.Payload))
			if err != nil {
				t.Fatal(err)
			}
			if status, body := reply(t, resp); status != http.StatusOK || body != tt.Denied+"\n" || resp.Header.Get(ExitHeader) != "0" {
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
	calls := hookclienttest.Calls(t, list)
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
			if got := hookSays(t, dir, hookclienttest.Removals[0].Payload, "claude-code", "--hooks", hookclienttest.HooksFile(t, tt.here)); got.Status != 0 || got.Stderr != "" {
				t.Errorf("got %+v", got)
			}
			r.stop()
			if err := <-r.done; err != nil {
				t.Fatal(err)
			}
			calls := hookclienttest.Calls(t, recordedIn(t, srv, dir))
			if len(calls) != 1 || string(calls[0].Verdict) != tt.verdict || calls[0].Reason != tt.reason || len(calls[0].Executions) != tt.executions {
				t.Errorf("recorded %+v", calls)
			}
		})
	}
}

// A publisher elsewhere decides and takes the events, for the tenant of the token;
// while it is away they stay here.
func TestHook_Elsewhere(t *testing.T) {
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
	t.Setenv(hookclient.TokenVariable, string(token))
	dir := t.TempDir()
	if got := hookSays(t, dir, hookclienttest.Removals[0].Payload, "claude-code", "--publisher", srv.URL); got.Stdout != hookclienttest.Removals[0].Denied+"\n" || got.Stderr != "" {
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
	if got := hookSays(t, dir, hookclienttest.Removals[0].Payload, "claude-code", "--publisher", srv.URL); got.Status != 0 || got.Stdout != "" || !strings.Contains(got.Stderr, "connection refused") {
		t.Errorf("got %+v", got)
	}
	if got := recorded(t, dir); len(got) == 0 {
		t.Error("nothing was kept")
	}
}
