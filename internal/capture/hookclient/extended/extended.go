// Package extended has the parts of the hook command that need large packages, such as net/http.
package extended

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/hookclient"
	"github.com/hooktrail/hooktrail/internal/capture/hooksocket"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/hookfile"
)

// Parts returns the parts.
func Parts() hookclient.Parts { return hookclient.Parts{Load: load, Post: post} }

func load(path string, r *hooks.Registry) error {
	file, err := hookfile.Load(path)
	if err != nil {
		return err
	}
	return file.Register(r, hookfile.Options{})
}

const dialTimeout = 250 * time.Millisecond

func post(ctx context.Context, base *url.URL, r hooksocket.Request, started func()) (hooksocket.Response, error) {
	client := &http.Client{
		Transport: &http.Transport{
			DisableKeepAlives: true, DisableCompression: true, Proxy: http.ProxyFromEnvironment,
			DialContext: (&net.Dialer{Timeout: dialTimeout}).DialContext,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		Got1xxResponse: func(int, textproto.MIMEHeader) error { started(); return nil },
	})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base.Scheme+"://"+base.Host+base.Path+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		return hooksocket.Response{}, err
	}
	for name, value := range r.Header {
		req.Header.Set(name, value)
	}
	resp, err := client.Do(req)
	if err != nil {
		return hooksocket.Response{}, err
	}
	defer resp.Body.Close()
	started()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 2*hookclient.MaxPayload))
	header := hooksocket.Header{}
	for name := range resp.Header {
		header[strings.ToLower(name)] = resp.Header.Get(name)
	}
	return hooksocket.Response{Code: resp.StatusCode, Status: resp.Status, Header: header, Body: body}, err
}
