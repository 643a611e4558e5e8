package hooksocket

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// A server of net/http gets the request, and its response is read, in all forms that it has.
func TestExchange(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("Hooktrail-Test") != "yes" {
			t.Errorf("body %d bytes, %v, header %v", len(body), err, r.Header)
		}
		switch r.URL.Path {
		case "/empty":
		case "/refused":
			w.WriteHeader(http.StatusForbidden)
		case "/chunks":
			w.WriteHeader(http.StatusProcessing)
			for _, part := range []string{"a", long, "b"} {
				_, _ = io.WriteString(w, part)
				_ = http.NewResponseController(w).Flush()
			}
		case "/cut":
			w.Header().Set("Content-Length", "10")
			_, _ = io.WriteString(w, "abc")
		default:
			w.Header().Set(ExitHeader, "2")
			w.Write(body)
		}
	})
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: handler}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { srv.Close() })
	for _, tt := range []struct {
		path, body, want string
		code             int
		err              error
	}{
		{"/echo", "hello", "hello", 200, nil},
		{"/echo", long, long, 200, nil},
		{"/empty", "", "", 200, nil},
		{"/refused", "a", "", 403, nil},
		{"/chunks", "a", "a" + long + "b", 200, nil},
		{"/cut", "a", "", 200, io.ErrUnexpectedEOF},
	} {
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		begun := 0
		resp, err := Exchange(conn, Request{Path: tt.path, Header: map[string]string{"Hooktrail-Test": "yes"}, Body: []byte(tt.body)}, func() { begun++ })
		if !errors.Is(err, tt.err) || begun != 1 || resp.Code != tt.code && err == nil || string(resp.Body) != tt.want && err == nil {
			t.Errorf("%s: got code %d and %d bytes, %v, begun %d", tt.path, resp.Code, len(resp.Body), err, begun)
		}
		if tt.path == "/echo" && resp.Header.Get(ExitHeader) != "2" {
			t.Errorf("header %v", resp.Header)
		}
		conn.Close()
	}
}

// If Exchange accepts a response, net/http reads the same one.
func FuzzReadResponse(f *testing.F) {
	f.Add([]byte("HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\nHooktrail-Exit: 0\r\n\r\n{}"))
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"))
	f.Add([]byte("HTTP/1.0 503 Service Unavailable\r\n\r\nno"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := readResponse(bytes.NewReader(text), func() {})
		if err != nil {
			return
		}
		r := bufio.NewReader(bytes.NewReader(text))
		for {
			want, err := http.ReadResponse(r, &http.Request{Method: http.MethodPost}) //nolint:bodyclose // in memory
			if err != nil {
				return // stricter than needed for a socket of our own
			}
			if want.StatusCode < 200 {
				continue
			}
			body, err := io.ReadAll(want.Body)
			if err == nil && want.StatusCode == got.Code && got.Code != http.StatusNoContent && got.Code != http.StatusNotModified && !bytes.Equal(body, got.Body) {
				t.Errorf("got %q, net/http has %q", got.Body, body)
			}
			return
		}
	})
}
