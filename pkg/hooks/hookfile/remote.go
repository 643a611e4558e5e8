package hookfile

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/wire"
)

// newClient returns a client for hooks: it reads answers up to a limit, does not
// follow redirects, because whoever is asked was named in the file, and has no
// time limit of its own.
func newClient() *http.Client {
	return &http.Client{
		Transport:     bounded{http.DefaultTransport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// bounded cuts answers off behind the limit, where they cannot be used any more.
type bounded struct{ http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(req)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, wire.MaxBytes+1), resp.Body}
	}
	return resp, err
}

// server asks a server by POST.
type server struct {
	event  string
	url    string
	keyEnv string
	client *http.Client
}

// run posts d, and returns what the server answers. 204 is no opinion.
func (s server) run(ctx context.Context, d hooks.Document) (*hooks.Reply, error) {
	body, err := wire.Append(nil, s.event, d)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return nil, hooks.Fault("request cannot be made")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if s.keyEnv != "" {
		key := os.Getenv(s.keyEnv)
		if key == "" {
			return nil, hooks.Fault("no key in " + s.keyEnv)
		}
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, remoteFault(ctx, err, "server cannot be reached")
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusNoContent:
		return nil, nil //nolint:nilnil // no opinion
	default:
		return nil, hooks.Fault("server answered with status " + strconv.Itoa(resp.StatusCode))
	}
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, remoteFault(ctx, err, "answer was cut off")
	}
	if len(bytes.TrimSpace(answer)) == 0 {
		return nil, hooks.Fault("server answered nothing")
	}
	return wire.ParseReply(answer, d)
}

// remoteFault says why nobody answered.
func remoteFault(ctx context.Context, err error, otherwise hooks.Fault) error {
	if ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) {
		return hooks.ErrTimedOut
	}
	return otherwise
}

// service asks a decision service over NATS.
type service struct {
	event   string
	subject string // empty: the decision service of the document's tenant
	space   subjects.Space
	conn    *nats.Conn
}

// run sends d and returns the answer. That nobody is there is known at once.
func (s service) run(ctx context.Context, d hooks.Document) (*hooks.Reply, error) {
	if s.conn == nil || !s.conn.IsConnected() {
		return nil, hooks.Fault("not connected to NATS")
	}
	subject := s.subject
	if subject == "" {
		var err error
		if subject, err = s.space.Decisions(d.Meta.Tenant); err != nil {
			return nil, hooks.Fault("tenant cannot be asked for")
		}
	}
	body, err := wire.Append(nil, s.event, d)
	if err != nil {
		return nil, err
	}
	msg := nats.NewMsg(subject)
	msg.Data = body
	if deadline, ok := ctx.Deadline(); ok {
		subjects.SetTimeout(msg.Header, time.Until(deadline))
	}
	answer, err := s.conn.RequestMsgWithContext(ctx, msg)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return nil, hooks.Fault("no decision service there")
	case errors.Is(err, nats.ErrMaxPayload):
		return nil, hooks.Fault("document is too large for NATS")
	case err != nil:
		return nil, remoteFault(ctx, err, "decision service cannot be reached")
	case answer.Header.Get(subjects.ServiceError) != "":
		return nil, hooks.Fault("decision service refused the document")
	case len(bytes.TrimSpace(answer.Data)) == 0:
		return nil, hooks.Fault("decision service answered nothing")
	}
	return wire.ParseReply(answer.Data, d)
}
