package hookfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/wire"
)

func TestHTTP(t *testing.T) {
	tests := []struct {
		name, body string
		status     int
		verdict    hooks.Verdict
		fault      string
	}{
		{"Block", `{"action":"block"}`, 200, hooks.Deny, ""},
		{"Outcome", `{"point":"tool.before","verdict":"ask","reason":"?","args":{"command":"git status"},"executions":[]}`, 200, hooks.Ask, ""},
		{"NoOpinion", ``, 204, hooks.None, ""},
		{"Nothing", ` `, 200, hooks.None, "server answered nothing"},
		{"Prose", `ok`, 200, hooks.None, "answer is not one JSON object"},
		{"BadVerdict", `{"verdict":"perhaps"}`, 200, hooks.None, "answer has no verdict that exists"},
		{"Error", `{"action":"allow"}`, 500, hooks.None, "server answered with status 500"},
		{"Redirect", ``, 307, hooks.None, "server answered with status 307"},
		{"TooLong", `{"action":"allow","message":"` + strings.Repeat("x", wire.MaxBytes) + `"}`, 200, hooks.None, "answer is too long"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("HOOK_KEY", "k3y")
			var got, key string
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				got, key = string(body), r.Header.Get("Authorization")
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(tt.status)
				if tt.status != http.StatusNoContent {
					w.Write([]byte(tt.body))
				}
			}))
			defer srv.Close()
			defer http.DefaultClient.CloseIdleConnections()
			out := dispatch(t, register(t, fmt.Sprintf("hooks:\n  PreToolUse:\n    - {type: http, url: %q, key_env: HOOK_KEY}\n", srv.URL), Options{}), gitStatus)
			x := one(t, out)
			if out.Verdict != tt.verdict || x.Error != tt.fault || x.Modified {
				t.Errorf("got %+v", out)
			}
			if d, err := wire.Parse([]byte(got)); err != nil || d.Tool != "Bash" || key != "Bearer k3y" {
				t.Errorf("the server got %+v, %v, key %q", d, err, key)
			}
		})
	}
}

// A server that does not answer costs the deadline of the hook. An unreachable one costs no time.
func TestHTTPAway(t *testing.T) {
	stalls := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-stalls }))
	defer http.DefaultClient.CloseIdleConnections()
	file := "hooks:\n  PreToolUse:\n    - {type: http, url: %q, on_failure: block, timeout_ms: %d}\n"
	out := dispatch(t, register(t, fmt.Sprintf(file, srv.URL, 100), Options{}), gitStatus)
	if x := one(t, out); !x.TimedOut || out.Verdict != hooks.Deny {
		t.Errorf("got %+v", out)
	}
	close(stalls)
	srv.Close()
	out = dispatch(t, register(t, fmt.Sprintf(file, srv.URL, 60_000), Options{}), gitStatus)
	if x := one(t, out); x.Error != "server cannot be reached: connection refused" || out.Verdict != hooks.Deny {
		t.Errorf("got %+v", out)
	}
}

type requester func(ctx context.Context, tenant, subject string, document []byte) ([]byte, error)

func (r requester) Request(ctx context.Context, tenant, subject string, document []byte) ([]byte, error) {
	return r(ctx, tenant, subject, document)
}

func TestNATS(t *testing.T) {
	tests := []struct {
		name, answer string
		err          error
		verdict      hooks.Verdict
		fault        string
	}{
		{"Allow", `{"action":"allow"}`, nil, hooks.Allow, ""},
		{"Nothing", ` `, nil, hooks.Deny, "decision service answered nothing"},
		{"Fault", ``, fmt.Errorf("ask: %w", hooks.Fault("no decision service there")), hooks.Deny, "no decision service there"},
		{"OtherError", ``, errors.New("text of an unknown origin"), hooks.Deny, "decision service cannot be reached"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			to := requester(func(_ context.Context, tenant, subject string, document []byte) ([]byte, error) {
				if d, err := wire.Parse(document); err != nil || d.Tool != "Bash" || tenant != "acme" || subject != "team.x" {
					t.Errorf("got tenant %q, subject %q, %s", tenant, subject, document)
				}
				return []byte(tt.answer), tt.err
			})
			r := register(t, "hooks:\n  PreToolUse:\n    - {type: nats, subject: team.x, on_failure: block}\n", Options{Requester: to})
			out := dispatch(t, r, strings.Replace(gitStatus, `{`, `{"tenant":"acme",`, 1))
			if x := one(t, out); out.Verdict != tt.verdict || x.Error != tt.fault {
				t.Errorf("got %+v", out)
			}
		})
	}
}

func TestNATS_NoRequester(t *testing.T) {
	out := dispatch(t, register(t, "hooks:\n  PreToolUse:\n    - {type: nats, on_failure: block}\n", Options{}), gitStatus)
	if one(t, out).Error != "not connected to NATS" || out.Verdict != hooks.Deny {
		t.Errorf("got %+v", out)
	}
}

// A decision service does not send requests to itself.
func TestNATS_OwnService(t *testing.T) {
	own := func(subject string) bool { return subject == "own" }
	for hook, ok := range map[string]bool{"": false, ", subject: own": false, ", subject: other": true} {
		f := parse(t, "hooks:\n  PreToolUse:\n    - {type: nats"+hook+"}\n")
		if err := f.Register(hooks.NewRegistry(hooks.Options{}), Options{Own: own}); (err == nil) != ok {
			t.Errorf("nats%s: got %v", hook, err)
		}
	}
}
