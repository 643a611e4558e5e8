package publisher

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks/hookfile"
)

const noEnv = `
hooks:
  PreToolUse:
    - {type: matcher, name: no-env, match: {tool: Write, args: {path: "**/.env*"}}, action: block, message: Cannot modify environment files}
`

const write = `{"event":"PreToolUse","tool":"write_file","args":{"path":"a/.env"},"session_id":"s1"}`

func parseHooks(t testing.TB, text string) *hookfile.File {
	t.Helper()
	f, err := hookfile.Parse("hooks.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (r *running) decide(t *testing.T, body string) (int, string) {
	t.Helper()
	return r.postTo(t, "/v1/decisions", http.Header{"Content-Type": {"application/json"}}, strings.NewReader(body))
}

// HTTP and NATS give the same decision, and each decision is an event in the stream.
func TestRun_Decides(t *testing.T) {
	srv, b := open(t)
	r := runServer(t, Options{Broker: b, DataDir: t.TempDir(), Hooks: parseHooks(t, noEnv)})
	if status, body := r.decide(t, write); status != http.StatusOK || !strings.Contains(body, `"verdict":"deny","reason":"Cannot modify environment files"`) {
		t.Errorf("got %d %s", status, body)
	}
	nc := srv.Connect(t)
	msg, err := askUntilThere(t, nc, "hooktrail.decide.acme")
	if err != nil || !strings.Contains(string(msg.Data), `"verdict":"deny"`) || msg.Header.Get(subjects.ServiceError) != "" {
		t.Errorf("got %v, %v", msg, err)
	}
	if status, body := r.decide(t, "nonsense"); status != http.StatusBadRequest {
		t.Errorf("got %d %s", status, body)
	}
	if status, body := r.decide(t, `{"event":"run.started"}`); status != http.StatusBadRequest || !strings.Contains(body, "runid") {
		t.Errorf("without a run: got %d %s", status, body)
	}
	r.end(t)
	if _, err := nc.Request("hooktrail.decide.acme", []byte(write), time.Minute); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("after the end: got %v", err)
	}
	var decided []events.Event
	for _, e := range srv.Events(t) {
		if e.Kind() == events.ToolBefore {
			decided = append(decided, e)
		}
	}
	if len(decided) != 2 {
		t.Fatalf("in the stream: got %d decisions, want 2", len(decided))
	}
	for i, tenant := range []string{"default", "acme"} {
		data, err := events.Payload[events.ToolBeforeData](decided[i])
		if err != nil || decided[i].Tenant != tenant || decided[i].Run != "s1" || data.Verdict != events.VerdictDeny || len(data.Executions) != 1 || data.Executions[0].Name != "no-env" {
			t.Errorf("got %+v, %+v, %v", decided[i], data, err)
		}
	}
}

func askUntilThere(t *testing.T, nc *nats.Conn, subject string) (*nats.Msg, error) {
	t.Helper()
	for {
		msg, err := nc.Request(subject, []byte(write), time.Minute)
		if !errors.Is(err, nats.ErrNoResponders) {
			return msg, err
		}
	}
}

// The service decides over HTTP while the broker is away, and over NATS after the
// broker returns.
func TestRun_DecidesWithoutBroker(t *testing.T) {
	srv, b := open(t)
	r := runServer(t, Options{Broker: b, DataDir: t.TempDir(), Hooks: parseHooks(t, noEnv)})
	srv.Stop()
	if status, body := r.decide(t, write); status != http.StatusOK || !strings.Contains(body, `"verdict":"deny"`) {
		t.Errorf("got %d %s", status, body)
	}
	srv.Restart(t)
	if msg, err := askUntilThere(t, srv.Connect(t), "hooktrail.decide.acme"); err != nil || !strings.Contains(string(msg.Data), `"verdict":"deny"`) {
		t.Errorf("got %v, %v", msg, err)
	}
	r.end(t)
	kinds := map[events.Kind]int{}
	for _, e := range srv.Events(t) {
		kinds[e.Kind()]++
	}
	// The publisher ends the runs, because nobody says that their engines ended.
	if diff := cmp.Diff(map[events.Kind]int{events.ToolBefore: 2, events.RunFinished: 2, events.RunSealed: 2}, kinds); diff != "" {
		t.Errorf("in the stream (-want +got):\n%s", diff)
	}
}

// Requests for decisions from other hosts and origins are refused. Without hooks, the
// endpoint does not exist.
func TestHandler_Decisions(t *testing.T) {
	decided := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	for _, tt := range []struct {
		name, host, origin string
		opts               HandlerOptions
		want               int
	}{
		{"Loopback", "127.0.0.1:8080", "", HandlerOptions{Decisions: decided}, 200},
		{"OtherHost", "example.com", "", HandlerOptions{Decisions: decided}, 421},
		{"Remote", "example.com", "", HandlerOptions{Decisions: decided, AllowRemote: true}, 200},
		{"OtherOrigin", "127.0.0.1:8080", "https://example.com", HandlerOptions{Decisions: decided}, 403},
		{"NoHooks", "127.0.0.1:8080", "", HandlerOptions{}, 404},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "http://"+tt.host+"/v1/decisions", strings.NewReader(write))
			if tt.origin != "" {
				r.Header.Set("Origin", tt.origin)
			}
			w := httptest.NewRecorder()
			Handler(&recorder{}, tt.opts).ServeHTTP(w, r)
			if w.Code != tt.want {
				t.Errorf("got %d %s, want %d", w.Code, w.Body, tt.want)
			}
		})
	}
}
