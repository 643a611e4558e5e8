package timestamp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

const (
	queryType = "application/timestamp-query"
	idle      = 90 * time.Second // time after which an idle connection is closed
)

// A Client requests tokens from a TSA over HTTP. It is safe for concurrent use.
type Client struct {
	url  *url.URL
	http *http.Client
}

// ParseURL parses the address of a TSA.
func ParseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("it is not an http:// or https:// address") // it may contain a password
	}
	return u, nil
}

// NewClient returns a client for the TSA at the URL. The caller must close it.
func NewClient(u *url.URL) *Client {
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, IdleConnTimeout: idle, MaxIdleConnsPerHost: 4,
		TLSHandshakeTimeout: 10 * time.Second, MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true,
	}
	return &Client{url: u, http: &http.Client{
		Transport: transport,
		// Redirects are not followed, because only the configured address may answer.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Name returns the scheme and host of the address. Other parts may contain secrets.
func (c *Client) Name() string { return c.url.Scheme + "://" + c.url.Host }

// Stamp requests a token for data from the TSA and checks the answer with [Request.Open].
func (c *Client) Stamp(ctx context.Context, data []byte) (der []byte, t *Token, err error) {
	r, err := NewRequest(data)
	if err != nil {
		return nil, nil, err
	}
	query, err := r.Encode()
	if err != nil {
		return nil, nil, err
	}
	answer, err := c.post(ctx, query)
	if err != nil {
		return nil, nil, err
	}
	return r.Open(answer)
}

func (c *Client) post(ctx context.Context, query []byte) (answer []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url.String(), bytes.NewReader(query))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", queryType)
	resp, err := c.http.Do(req)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err // without the address, which may contain secrets
		}
		return nil, fmt.Errorf("the time stamp authority is unreachable: %w", err)
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the time stamp authority answers with status %d", resp.StatusCode)
	}
	answer, err = io.ReadAll(io.LimitReader(resp.Body, MaxTokenBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read the answer of the time stamp authority: %w", err)
	}
	if len(answer) > MaxTokenBytes {
		return nil, fmt.Errorf("the answer of the time stamp authority is longer than %d bytes", MaxTokenBytes)
	}
	return answer, nil
}
