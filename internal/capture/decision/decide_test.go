package decision

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/wire"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/nats-io/nats-server/v2/server/ats.Register.func1")) // see natstest
}

// recorder keeps events; it fails while it is full.
type recorder struct {
	mu     sync.Mutex // guards what follows
	events []events.Event
	full   bool
}

func (r *recorder) Append(_ context.Context, e events.Event) (events.Event, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.full {
		return e, errors.New("outbox is full")
	}
	r.events = append(r.events, e)
	return e, nil
}

func (r *recorder) all() []events.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.events
}

// answers is a registry whose only hook denies "rm" and is called for all else.
func answers(t testing.TB, to hooks.Appender, other func(context.Context) error) *hooks.Registry {
	t.Helper()
	r := hooks.NewRegistry(hooks.Options{Appender: to, Source: "/decisions"})
	hooks.ToolBefore.On(r, func(ctx context.Context, _ hooks.Meta, call hooks.ToolCall) (*hooks.Decision[hooks.ToolPatch], error) {
		if command, _ := call.Args.Text("command"); strings.HasPrefix(command, "rm") {
			return &hooks.Decision[hooks.ToolPatch]{Verdict: hooks.Deny, Reason: "no rm"}, nil
		}
		if other != nil {
			return nil, other(ctx)
		}
		return nil, nil //nolint:nilnil // no opinion
	}, hooks.Name("rm"), hooks.Timeout(time.Minute), hooks.OnFailure(hooks.Block))
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// serve runs a service over NATS until the test ends, and returns a client.
func serve(t testing.TB, opts Options) *nats.Conn {
	t.Helper()
	srv := natstest.Start(t, natstest.Options{NoStreams: true})
	run(t, New(opts), srv.Connect(t))
	return srv.Connect(t)
}

// run runs s on nc until the test ends, and waits until it answers.
func run(t testing.TB, s *Service, nc *nats.Conn) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, nc) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		subject, err := s.opts.Space.Decisions(s.opts.Tenant)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := nc.Request(subject, nil, time.Minute); !errors.Is(err, nats.ErrNoResponders) {
			return
		}
	}
}

const (
	ls = `{"event":"PreToolUse","tool":"Bash","args":{"command":"ls"},"session_id":"s1","agent":"coder"}`
	rm = `{"event":"PreToolUse","tool":"Bash","args":{"command":"rm x"},"session_id":"s1","agent":"coder"}`
)

// ask asks over NATS.
func ask(t testing.TB, nc *nats.Conn, tenant, document string) *nats.Msg {
	t.Helper()
	subject, err := subjects.Space{}.Decisions(tenant)
	if err != nil {
		t.Fatal(err)
	}
	msg, err := nc.Request(subject, []byte(document), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return msg
}

func outcome(t testing.TB, data []byte) hooks.DocumentOutcome {
	t.Helper()
	var out hooks.DocumentOutcome
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return out
}

// Both ways in give the same outcome, and record it.
func TestDecide(t *testing.T) {
	to := &recorder{}
	opts := Options{Registry: answers(t, to, nil)}
	nc := serve(t, opts)
	overHTTP := New(opts)
	for _, tt := range []struct {
		document string
		want     hooks.Verdict
	}{
		{ls, hooks.None},
		{rm, hooks.Deny},
		{`{"specversion":"1.0","id":"1","source":"/x","type":"hooktrail.tool.before","runid":"s1","agent":"coder","data":{"tool":"Bash","args":{"command":"rm x"}}}`, hooks.Deny},
	} {
		before := len(to.all())
		rec := post(overHTTP, tt.document, nil)
		msg := ask(t, nc, "acme", tt.document)
		if rec.Code != http.StatusOK || rec.Header().Get("Content-Type") != "application/json" || msg.Header.Get(subjects.ServiceError) != "" {
			t.Fatalf("got status %d %s, headers %v", rec.Code, rec.Body, msg.Header)
		}
		for _, data := range [][]byte{rec.Body.Bytes(), msg.Data} {
			out := outcome(t, data)
			if out.Verdict != tt.want || out.Point != events.ToolBefore || len(out.Executions) != 1 || out.Executions[0].Name != "rm" {
				t.Errorf("got %+v", out)
			}
			if reply, err := wire.ParseReply(data, hooks.Document{Point: events.ToolBefore, Args: out.Args}); err != nil || reply.Patch != "" {
				t.Errorf("the outcome is no reply: %+v, %v", reply, err)
			}
		}
		recorded := to.all()[before:]
		if len(recorded) != 2 {
			t.Fatalf("got %d events, want 2", len(recorded))
		}
		for i, tenant := range []string{"default", "acme"} {
			e := recorded[i]
			data, err := events.Payload[events.ToolBeforeData](e)
			if err != nil || e.Tenant != tenant || e.Run != "s1" || e.Agent != "coder" || e.Source != "/decisions" || data.Tool != "Bash" || data.Verdict != tt.want {
				t.Errorf("got %+v, %+v, %v", e, data, err)
			}
		}
	}
}

func post(s http.Handler, document string, header map[string]string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/v1/decisions", strings.NewReader(document))
	r.Header.Set("Content-Type", "application/json")
	for name, value := range header {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func TestRefusals(t *testing.T) {
	to := &recorder{}
	opts := Options{Registry: answers(t, to, nil), Tenant: "acme"}
	nc := serve(t, opts)
	tests := []struct {
		name, document string
		status         int
		detail         string
	}{
		{"NoJSON", "secret", 400, "document: want one JSON object"},
		{"NoPoint", `{"event":"secret"}`, 400, "document: event: no hook point has this name; hooktrail hooks list shows them"},
		{"OtherTenant", `{"event":"PreToolUse","tenant":"other"}`, 403, "tenant: another one than may be asked for here"},
		{"BadRun", `{"event":"PreToolUse","run":"` + strings.Repeat("x", 300) + `"}`, 400, "run: id cannot be used: 300 bytes long, at most 256 are allowed"},
		{"TooLong", `{"event":"` + strings.Repeat("x", wire.MaxBytes) + `"}`, 413, "a document has at most 1048576 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := post(New(opts), tt.document, nil)
			var p problem
			if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != tt.status || p.Detail != tt.detail || p.Status != tt.status {
				t.Errorf("got %d %s, %v", w.Code, w.Body, err)
			}
			if len(tt.document) > wire.MaxBytes {
				return // NATS itself refuses it
			}
			msg := ask(t, nc, "acme", tt.document)
			if msg.Header.Get(subjects.ServiceError) != tt.detail || msg.Header.Get(subjects.ServiceErrorCode) != strconv.Itoa(tt.status) || len(msg.Data) > 0 {
				t.Errorf("got headers %v", msg.Header)
			}
		})
	}
	if w := post(New(opts), ls, map[string]string{"Content-Type": "text/plain"}); w.Code != http.StatusUnsupportedMediaType {
		t.Errorf("got %d", w.Code)
	}
	if n := len(to.all()); n > 0 {
		t.Errorf("%d events were recorded", n)
	}
	if _, err := nc.Request("hooktrail.decide.other", []byte(ls), time.Minute); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("a service of one tenant answers another: %v", err)
	}
}

// A decision that cannot be recorded is none.
func TestNotRecorded(t *testing.T) {
	to := &recorder{full: true}
	opts := Options{Registry: answers(t, to, nil)}
	nc := serve(t, opts)
	if w := post(New(opts), ls, nil); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "could not be recorded") || w.Header().Get("Retry-After") == "" {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	if msg := ask(t, nc, "acme", ls); msg.Header.Get(subjects.ServiceError) != "the decision could not be recorded" {
		t.Errorf("got headers %v", msg.Header)
	}
}

// The hooks have as long as who asks waits, and no longer than the service allows.
func TestDeadline(t *testing.T) {
	stalls := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	opts := Options{Registry: answers(t, &recorder{}, stalls)}
	nc := serve(t, opts)
	began := time.Now()
	if w := post(New(opts), ls, map[string]string{subjects.DecisionTimeout: "50"}); outcome(t, w.Body.Bytes()).Verdict != hooks.Deny {
		t.Errorf("got %s", w.Body)
	}
	msg := nats.NewMsg("hooktrail.decide.acme")
	msg.Data = []byte(ls)
	subjects.SetTimeout(msg.Header, 50*time.Millisecond)
	answer, err := nc.RequestMsg(msg, time.Minute)
	if err != nil || outcome(t, answer.Data).Verdict != hooks.Deny {
		t.Errorf("got %v, %v", answer, err)
	}
	opts.Timeout = 50 * time.Millisecond
	if w := post(New(opts), ls, nil); outcome(t, w.Body.Bytes()).Verdict != hooks.Deny {
		t.Errorf("got %s", w.Body)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %v of the hook's minute", took)
	}
}

// So many decisions at once and no more: others are refused, not queued.
func TestBusy(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	waits := func(context.Context) error {
		entered <- struct{}{}
		<-leave
		return nil
	}
	s := New(Options{Registry: answers(t, nil, waits), MaxOpen: 1})
	srv := natstest.Start(t, natstest.Options{NoStreams: true})
	run(t, s, srv.Connect(t))
	first := make(chan *httptest.ResponseRecorder, 1)
	go func() { first <- post(s, ls, nil) }()
	<-entered
	if w := post(s, ls, nil); w.Code != http.StatusServiceUnavailable {
		t.Errorf("got %d", w.Code)
	}
	if msg := ask(t, srv.Connect(t), "acme", ls); msg.Header.Get(subjects.ServiceError) != errBusy.detail {
		t.Errorf("got headers %v", msg.Header)
	}
	close(leave)
	if w := <-first; w.Code != http.StatusOK {
		t.Errorf("got %d", w.Code)
	}
}

// A slow decision holds up no other, and a service that ends answers what it has
// taken, and hands the rest to the other services of its queue group.
func TestStop(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	waits := func(context.Context) error {
		entered <- struct{}{}
		<-leave
		return nil
	}
	srv := natstest.Start(t, natstest.Options{NoStreams: true})
	nc := srv.Connect(t)
	s := New(Options{Registry: answers(t, nil, waits)})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, srv.Connect(t)) }()
	answered := make(chan *nats.Msg, 1)
	go func() {
		for {
			msg, err := nc.Request("hooktrail.decide.acme", []byte(ls), time.Minute)
			if err == nil {
				answered <- msg
				return
			}
		}
	}()
	<-entered
	if msg := ask(t, nc, "acme", rm); outcome(t, msg.Data).Verdict != hooks.Deny {
		t.Errorf("got %s", msg.Data)
	}
	cancel()
	run(t, New(Options{Registry: answers(t, nil, nil)}), srv.Connect(t))
	for range 20 {
		if msg := ask(t, nc, "acme", rm); len(msg.Data) > 0 && outcome(t, msg.Data).Verdict != hooks.Deny {
			t.Errorf("got %s", msg.Data)
		}
	}
	close(leave)
	if out := outcome(t, (<-answered).Data); out.Verdict != hooks.None {
		t.Errorf("got %+v", out)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
