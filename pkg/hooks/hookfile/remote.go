package hookfile

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/wire"
)

// newClient follows no redirects, because only the server that the hook file names may get the
// data.
func newClient() *http.Client {
	return &http.Client{
		Transport:     bounded{http.DefaultTransport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

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

type server struct {
	event  string
	url    string
	keyEnv string
	client *http.Client
}

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
		return nil, remoteFault(ctx, err, "server", "cannot be reached")
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusNoContent:
		return nil, nil
	default:
		return nil, hooks.Fault("server answered with status " + strconv.Itoa(resp.StatusCode))
	}
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, remoteFault(ctx, err, "server", "cut its answer off")
	}
	if len(bytes.TrimSpace(answer)) == 0 {
		return nil, hooks.Fault("server answered nothing")
	}
	return wire.ParseReply(answer, d)
}

type service struct {
	event   string
	subject string // if empty, the decision service of the document's tenant
	to      Requester
}

func (s service) run(ctx context.Context, d hooks.Document) (*hooks.Reply, error) {
	if s.to == nil {
		return nil, hooks.Fault("not connected to NATS")
	}
	body, err := wire.Append(nil, s.event, d)
	if err != nil {
		return nil, err
	}
	answer, err := s.to.Request(ctx, d.Meta.Tenant, s.subject, body)
	if fault, ok := errors.AsType[hooks.Fault](err); ok {
		return nil, fault
	}
	switch {
	case err != nil:
		return nil, remoteFault(ctx, err, "decision service", "cannot be reached")
	case len(bytes.TrimSpace(answer)) == 0:
		return nil, hooks.Fault("decision service answered nothing")
	}
	return wire.ParseReply(answer, d)
}

func checkSubject(subject string) error {
	const refused = "not a subject that can be asked: "
	switch {
	case len(subject) > 1024 || strings.ContainsAny(subject, " \t\r\n*>\x00"):
		return errors.New(refused + "want tokens with dots in between, without wildcards and spaces")
	case slices.Contains(strings.Split(subject, "."), ""):
		return errors.New(refused + "empty token; want tokens with dots in between")
	case strings.HasPrefix(subject, "$"), strings.HasPrefix(subject, "_INBOX."):
		return errors.New(refused + "it is the server's own")
	}
	return nil
}
