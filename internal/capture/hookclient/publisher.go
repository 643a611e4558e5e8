package hookclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
	"github.com/hooktrail/hooktrail/internal/platform/groupsocket"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

const (
	// quickResponse limits the wait for a response if the request needs no decision.
	quickResponse = 250 * time.Millisecond
	maxAnswer     = 2 * MaxPayload
)

var errSilent = errors.New("publisher does not answer")

// publisherClient is safe for concurrent use.
type publisherClient struct {
	url     string // empty for the socket in dataDir
	token   string
	dataDir string

	unreachable atomic.Bool // a request got no response
}

// Ask asks the publisher of a data directory for a decision. It waits at most
// [DefaultTimeout].
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
	_, reply, err := p.do(ctx, path, http.Header{"Content-Type": {contentType}}, body, wait)
	return reply, err
}

// do sends a POST request. It fails if the response does not start within wait.
func (p *publisherClient) do(ctx context.Context, path string, header http.Header, body []byte, wait time.Duration) (http.Header, []byte, error) {
	base, client, err := p.connect()
	if err != nil {
		return nil, nil, err
	}
	b := p.breaker()
	decision, start := wait > quickResponse, time.Now()
	if wait, err = b.wait(wait); err != nil {
		p.unreachable.Store(true)
		return nil, nil, fmt.Errorf("ask a publisher: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(wait, func() { cancel(errSilent) })
	defer silence.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+path, bytes.NewReader(body))
	if err != nil {
		return nil, nil, fmt.Errorf("ask a publisher: %w", err)
	}
	req.Header = header
	if p.token != "" && p.url != "" {
		req.Header.Set("Authorization", "Bearer "+p.token)
	}
	resp, err := client.Do(req)
	if err != nil {
		if decision && isHang(ctx) && time.Since(start) >= quickResponse {
			b.hung()
		}
		return nil, nil, p.failed(ctx, err)
	}
	defer resp.Body.Close()
	b.answered()
	silence.Stop()
	reply, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch {
	case err != nil:
		return nil, nil, p.failed(ctx, err)
	case resp.StatusCode >= http.StatusMultipleChoices:
		return nil, nil, fmt.Errorf("ask a publisher: %w", &statusError{resp.StatusCode, resp.Status})
	}
	return resp.Header, reply, nil
}

// isHang reports whether a request ended because no response came. A hang can also use up
// the time of the whole decision.
func isHang(ctx context.Context) bool {
	cause := context.Cause(ctx)
	return errors.Is(cause, errSilent) || errors.Is(cause, context.DeadlineExceeded)
}

// failed returns errNoHooks if no publisher serves the data directory.
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

func (p *publisherClient) connect() (string, *http.Client, error) {
	transport := &http.Transport{DisableKeepAlives: true, DisableCompression: true}
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if p.url == "" {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return Dial(ctx, p.dataDir)
		}
		return "http://localhost", client, nil
	}
	u, err := parseURL(p.url)
	if err != nil {
		return "", nil, err
	}
	if u.Scheme == unixScheme {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return groupsocket.Dial(ctx, u.Path)
		}
		return "http://localhost", client, nil
	}
	transport.DialContext = (&net.Dialer{Timeout: quickResponse}).DialContext
	transport.Proxy = http.ProxyFromEnvironment
	return u.Scheme + "://" + u.Host + u.Path, client, nil
}

const unixScheme = "unix"

func isSocket(text string) bool {
	u, err := parseURL(text)
	return err == nil && u.Scheme == unixScheme
}

// CheckURL returns an error unless the scheme is http, https or unix. The publisher at a
// unix URL uses its own hooks file, so the parameter hooks must be empty for such a URL.
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
