package hookclient

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
	"github.com/hooktrail/hooktrail/internal/capture/hooksocket"
	"github.com/hooktrail/hooktrail/internal/platform/groupsocket"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

const (
	quickResponse  = hooksocket.QuickResponse
	statusMultiple = 300
)

var (
	errUnfinished = errors.New("publisher did not decide in time")
	errSilent     = errors.New("publisher does not answer")
)

type publisherClient struct {
	url     string // empty for the socket in dataDir
	token   string
	dataDir string
	parts   Parts

	unanswered  bool        // it has had its time, see [hooksocket.UnansweredFlag]
	unreachable atomic.Bool // a request got no response
}

// Ask asks the publisher of a data directory for a decision. It waits for at most [DefaultTimeout].
func Ask(ctx context.Context, dataDir string, tool *agents.Tool, d hooks.Document) (*hooks.DocumentOutcome, error) {
	ctx, cancel := context.WithTimeout(ctx, DefaultTimeout)
	defer cancel()
	return (&publisherClient{dataDir: dataDir}).ask(ctx, tool.Name(), d, DefaultTimeout)
}

func (p *publisherClient) ask(ctx context.Context, tool string, d hooks.Document, wait time.Duration) (*hooks.DocumentOutcome, error) {
	body, err := EncodeDocument(d)
	if err != nil {
		return nil, fmt.Errorf("ask a publisher: %w", err)
	}
	reply, err := p.post(ctx, "/v1/hooks/"+tool, DocumentType, body, wait)
	if err != nil {
		return nil, err
	}
	out, err := DecodeOutcome(d.Point, reply)
	if err != nil {
		return nil, fmt.Errorf("ask a publisher: %w", err)
	}
	return &out, nil
}

func (p *publisherClient) send(ctx context.Context, list []events.Event, tenant string) error {
	body := []byte{'['}
	for i, e := range list {
		if e.Tenant = tenant; i > 0 {
			body = append(body, ',')
		}
		body = e.Append(body)
	}
	_, err := p.post(ctx, "/v1/events", "application/cloudevents-batch+json", append(body, ']'), quickResponse)
	return err
}

func (p *publisherClient) post(ctx context.Context, path, contentType string, body []byte, wait time.Duration) ([]byte, error) {
	resp, err := p.do(ctx, hooksocket.Request{Path: path, Header: map[string]string{"Content-Type": contentType}, Body: body}, wait)
	return resp.Body, err
}

// do sends a request. If the publisher is too busy for a request that needs a decision, do repeats
// the request while there is time.
func (p *publisherClient) do(ctx context.Context, req hooksocket.Request, wait time.Duration) (hooksocket.Response, error) {
	for until := time.Now().Add(wait); ; {
		resp, err := p.try(ctx, req, wait)
		pause, busy := hooksocket.IsBusy(resp.Header)
		if wait = time.Until(until) - pause; !busy || wait <= quickResponse {
			return resp, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return resp, err
		}
	}
}

func (p *publisherClient) try(ctx context.Context, req hooksocket.Request, wait time.Duration) (hooksocket.Response, error) {
	send, err := p.transport()
	if err != nil {
		return hooksocket.Response{}, err
	}
	b := hooksocket.BreakerOf(p.dataDir, p.url)
	decision, start := wait > quickResponse, time.Now()
	if wait, err = p.limit(b, wait); err != nil {
		p.unreachable.Store(true)
		return hooksocket.Response{}, fmt.Errorf("ask a publisher: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(wait, func() { cancel(errSilent) })
	defer silence.Stop()
	if p.token != "" && p.url != "" {
		req.Header["Authorization"] = "Bearer " + p.token
	}
	if req.Header[hooksocket.ProgressHeader] != "" {
		req.Header[hooksocket.BeginHeader] = hooksocket.BeginWithin(wait)
	}
	var responds atomic.Bool
	resp, err := send(ctx, req, func() {
		responds.Store(true)
		silence.Stop()
		b.Answered()
	})
	switch {
	case err != nil:
		if !responds.Load() && decision && isHang(ctx) && time.Since(start) >= quickResponse {
			b.Hung()
		}
		return resp, p.failed(ctx, err)
	case resp.Code >= statusMultiple:
		return resp, fmt.Errorf("ask a publisher: %w", &statusError{resp.Code, resp.Status})
	}
	return resp, nil
}

func (p *publisherClient) limit(b hooksocket.Breaker, wait time.Duration) (time.Duration, error) {
	if p.unanswered {
		return 0, errUnfinished
	}
	return b.Wait(wait)
}

func isHang(ctx context.Context) bool {
	cause := context.Cause(ctx)
	return errors.Is(cause, errSilent) || errors.Is(cause, context.DeadlineExceeded)
}

func (p *publisherClient) failed(ctx context.Context, err error) error {
	if p.url == "" && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)) {
		return errNoHooks
	}
	p.unreachable.Store(true)
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // without the URL, which may contain a password
	}
	return fmt.Errorf("ask a publisher: %w", err)
}

func (p *publisherClient) transport() (func(context.Context, hooksocket.Request, func()) (hooksocket.Response, error), error) {
	if p.url == "" {
		return overSocket(func(ctx context.Context) (net.Conn, error) { return Dial(ctx, p.dataDir) }), nil
	}
	u, err := parseURL(p.url)
	switch {
	case err != nil:
		return nil, err
	case u.Scheme == unixScheme:
		return overSocket(func(ctx context.Context) (net.Conn, error) { return groupsocket.Dial(ctx, u.Path) }), nil
	case p.parts.Post == nil:
		return nil, errNoParts
	}
	return func(ctx context.Context, req hooksocket.Request, started func()) (hooksocket.Response, error) {
		return p.parts.Post(ctx, u, req, started)
	}, nil
}

func overSocket(dial func(context.Context) (net.Conn, error)) func(context.Context, hooksocket.Request, func()) (hooksocket.Response, error) {
	return func(ctx context.Context, req hooksocket.Request, started func()) (hooksocket.Response, error) {
		conn, err := dial(ctx)
		if err != nil {
			return hooksocket.Response{}, err
		}
		defer func() { _ = conn.Close() }() // the response is complete, or its error counts
		stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
		defer stop()
		return hooksocket.Exchange(conn, req, started)
	}
}

// Dial connects to the publisher of a data directory. It refuses a socket that another user placed
// there.
func Dial(ctx context.Context, dataDir string) (net.Conn, error) {
	path, done, err := hooksocket.Find(dataDir)
	if err != nil {
		return nil, err
	}
	defer done()
	return new(net.Dialer).DialContext(ctx, "unix", path)
}

const unixScheme = "unix"

func isSocket(text string) bool {
	u, err := parseURL(text)
	return err == nil && u.Scheme == unixScheme
}

// CheckURL returns an error if the URL of a publisher has an unknown scheme. It also rejects a unix
// URL together with the path of a hooks file, because a publisher on a Unix socket runs its own
// hooks.
func CheckURL(text, hooks string) error {
	_, err := parseURL(text)
	if err == nil && isSocket(text) && hooks != "" {
		return errOwnHooks
	}
	return err
}

func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err == nil && u.Scheme == unixScheme && u.Host == "" && filepath.IsAbs(u.Path) {
		return u, nil
	}
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("--publisher: want an address such as unix:///run/hooktrail/publisher.sock or https://hooktrail.example:8080")
	}
	return u, nil
}
