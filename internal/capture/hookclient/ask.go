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
	"syscall"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// answerSoon is how long a publisher may take to say that it is there. One that
// is not is known at once: its socket, or its port on this machine, refuses.
const answerSoon = 250 * time.Millisecond

// errSilent is why a request is given up.
var errSilent = errors.New("publisher does not answer")

// Ask asks the publisher that serves a data directory about a document of a tool,
// as the hook command does, for at most [DefaultTimeout].
func Ask(ctx context.Context, dataDir string, tool *agents.Tool, d hooks.Document) (*hooks.DocumentOutcome, error) {
	ctx, cancel := context.WithTimeout(ctx, DefaultTimeout)
	defer cancel()
	h := &hook{Flags: Flags{Timeout: DefaultTimeout}, dataDir: dataDir, tool: tool}
	return h.ask(ctx, d, true)
}

// ask asks a publisher: that of --publisher, else the one that serves the data
// directory. It has to say soon that it is there, and may take longer to do so
// only where something can be denied.
func (h *hook) ask(ctx context.Context, d hooks.Document, decides bool) (*hooks.DocumentOutcome, error) {
	d.Meta.Tenant = h.tenant
	body, err := EncodeDocument(d)
	if err != nil {
		return nil, fmt.Errorf("ask a publisher: %w", err)
	}
	patience := answerSoon
	if point, ok := hooks.PointNamed(string(d.Point)); ok && decides && point.Class == hooks.DecisionClass {
		patience = h.Timeout
	}
	reply, err := h.post(ctx, "/v1/hooks/"+h.tool.Name(), DocumentType, body, patience)
	if err != nil {
		return nil, err
	}
	out, err := DecodeOutcome(d.Point, reply)
	if err != nil {
		return nil, fmt.Errorf("ask a publisher: %w", err)
	}
	return &out, nil
}

// post sends a request to a publisher and returns the answer. The publisher has
// to begin it within patience, and to end it before ctx does.
func (h *hook) post(ctx context.Context, path, contentType string, body []byte, patience time.Duration) ([]byte, error) {
	base, client, err := h.publisherClient()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(patience, func() { cancel(errSilent) })
	defer silence.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("ask a publisher: %w", err)
	}
	req.Header.Set("Content-Type", contentType)
	if h.token != "" && h.Publisher != "" {
		req.Header.Set("Authorization", "Bearer "+h.token)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, h.unreached(ctx, err)
	}
	defer resp.Body.Close()
	silence.Stop()
	reply, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch {
	case err != nil:
		return nil, h.unreached(ctx, err)
	case resp.StatusCode >= http.StatusMultipleChoices:
		return nil, fmt.Errorf("ask a publisher: it answered %s", resp.Status)
	}
	return reply, nil
}

// maxAnswer bounds what a publisher may answer.
const maxAnswer = 2 * MaxPayload

// unreached returns the error of a request that got no answer. Where there is
// no publisher on this machine, nobody is to be asked.
func (h *hook) unreached(ctx context.Context, err error) error {
	if h.Publisher == "" && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)) {
		return errNobody
	}
	h.away = true
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // without the address, which may hold a password
	}
	return fmt.Errorf("ask a publisher: %w", err)
}

// publisherClient returns the address of the publisher, and what reaches it.
func (h *hook) publisherClient() (string, *http.Client, error) {
	transport := &http.Transport{DisableKeepAlives: true, DisableCompression: true}
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if h.Publisher == "" {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return Dial(ctx, h.dataDir)
		}
		return "http://localhost", client, nil
	}
	u, err := publisherURL(h.Publisher)
	if err != nil {
		return "", nil, err
	}
	transport.DialContext = (&net.Dialer{Timeout: answerSoon}).DialContext
	transport.Proxy = http.ProxyFromEnvironment
	return u.Scheme + "://" + u.Host + u.Path, client, nil
}

// publisherURL reads the value of --publisher.
func publisherURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("--publisher: want an address such as https://hooktrail.example:8080")
	}
	return u, nil
}
