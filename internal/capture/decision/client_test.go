package decision

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/hookfile"
	"github.com/hooktrail/hooktrail/pkg/hooks/wire"
)

var _ hookfile.Requester = Client{}

const gitStatus = `{"event":"PreToolUse","tool":"Bash","args":{"command":"git status"},"session_id":"abc123","timestamp":"2024-01-15T10:30:00Z"}`

func registry(t testing.TB, text string, nc *nats.Conn) *hooks.Registry {
	t.Helper()
	f, err := hookfile.Parse("hooks.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	r := hooks.NewRegistry(hooks.Options{})
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := f.Register(r, hookfile.Options{Requester: Client{Conn: nc}}); err != nil {
		t.Fatal(err)
	}
	return r
}

func dispatch(t testing.TB, r *hooks.Registry, document string) hooks.DocumentOutcome {
	t.Helper()
	d, err := wire.Parse([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	out, err := r.DispatchDocument(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func one(t testing.TB, out hooks.DocumentOutcome) hooks.Execution {
	t.Helper()
	if len(out.Executions) != 1 {
		t.Fatalf("got executions %+v, want one", out.Executions)
	}
	return out.Executions[0]
}

func TestClient(t *testing.T) {
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
			r := registry(t, "hooks:\n  PreToolUse:\n    - {type: nats, timeout_ms: 30000, "+tt.hook+"}\n", nc)
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

// A hook without a connection fails at once.
func TestClient_NotConnected(t *testing.T) {
	nc := natstest.Start(t).Connect(t)
	nc.Close()
	for _, conn := range []*nats.Conn{nil, nc} {
		began := time.Now()
		out := dispatch(t, registry(t, "hooks:\n  PreToolUse:\n    - {type: nats, on_failure: block, timeout_ms: 60000}\n", conn), gitStatus)
		if one(t, out).Error != "not connected to NATS" || out.Verdict != hooks.Deny || time.Since(began) > 30*time.Second {
			t.Errorf("got %+v after %v", out, time.Since(began))
		}
	}
}
