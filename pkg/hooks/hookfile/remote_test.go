package hookfile

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
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

// A server that does not answer costs the call its deadline and no more; one
// that is not there costs nothing.
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
	if x := one(t, out); x.Error != "server cannot be reached" || out.Verdict != hooks.Deny {
		t.Errorf("got %+v", out)
	}
}

func TestNATS(t *testing.T) {
	nc := natstest.Start(t).Connect(t)
	answer := func(subject, body string, header nats.Header) {
		t.Helper()
		_, err := nc.Subscribe(subject, func(m *nats.Msg) {
			d, err := wire.Parse(m.Data)
			wait := subjects.Timeout(m.Header, time.Hour)
			if err != nil || d.Tool != "Bash" || wait > 30*time.Second || wait < time.Second {
				body = `{"action":"block","message":"not the document that was sent"}`
			}
			if err := m.RespondMsg(&nats.Msg{Data: []byte(body), Header: header}); err != nil {
				t.Error(err)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	answer("team.allow", `{"action":"allow"}`, nil)
	answer("team.modify", `{"verdict":"none","args":{"command":"git status -s"}}`, nil)
	answer("team.refuse", ``, nats.Header{subjects.ServiceError: {"no"}})
	answer("team.nothing", ``, nil)
	answer("hooktrail.decide.acme", `{"verdict":"deny","reason":"acme says no"}`, nil)
	tests := []struct {
		name, hook, args string
		verdict          hooks.Verdict
		fault            string
	}{
		{"Allow", "subject: team.allow", "git status", hooks.Allow, ""},
		{"Modify", "subject: team.modify", "git status -s", hooks.None, ""},
		{"Refuse", "subject: team.refuse", "git status", hooks.None, "decision service refused the document"},
		{"Nothing", "subject: team.nothing", "git status", hooks.None, "decision service answered nothing"},
		{"Tenant", "on_failure: warn", "git status", hooks.Deny, ""},
		{"FailOpen", "subject: team.nobody", "git status", hooks.None, "no decision service there"},
		{"FailClosed", "subject: team.nobody, on_failure: block", "git status", hooks.Deny, "no decision service there"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := register(t, "hooks:\n  PreToolUse:\n    - {type: nats, timeout_ms: 30000, "+tt.hook+"}\n", Options{Conn: nc})
			began := time.Now()
			out := dispatch(t, r, strings.Replace(gitStatus, `{`, `{"tenant":"acme",`, 1))
			if x := one(t, out); out.Verdict != tt.verdict || x.Error != tt.fault || !strings.Contains(string(out.Args), `"`+tt.args+`"`) {
				t.Errorf("got %+v", out)
			}
			if took := time.Since(began); took > 15*time.Second {
				t.Errorf("it took %v of the hook's 30 s", took)
			}
		})
	}
}

// Without a connection a hook fails at once.
func TestNATSAway(t *testing.T) {
	nc := natstest.Start(t).Connect(t)
	nc.Close()
	for _, conn := range []*nats.Conn{nil, nc} {
		began := time.Now()
		out := dispatch(t, register(t, "hooks:\n  PreToolUse:\n    - {type: nats, on_failure: block, timeout_ms: 60000}\n", Options{Conn: conn}), gitStatus)
		if one(t, out).Error != "not connected to NATS" || out.Verdict != hooks.Deny || time.Since(began) > 30*time.Second {
			t.Errorf("got %+v after %v", out, time.Since(began))
		}
	}
}
