package decision

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/hooktrail/hooktrail/internal/capture/problem"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/wire"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/nats-io/nats-server/v2/server/ats.Register.func1")) // natstest explains why
}

// HTTP and NATS give the same outcome and record it.
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
			var p problem.Problem
			if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != tt.status || p.Detail != tt.detail || p.Status != tt.status {
				t.Errorf("got %d %s, %v", w.Code, w.Body, err)
			}
			if len(tt.document) > wire.MaxBytes {
				return // NATS itself refuses such a document
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

// A decision that cannot be recorded is an error.
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

// The timeout of the request applies to the hooks, up to the timeout of the service.
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

// Decisions above the limit are refused and not queued.
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

// A slow decision does not delay others. A service that stops answers its open
// requests, and the rest of the queue group gets later ones.
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
