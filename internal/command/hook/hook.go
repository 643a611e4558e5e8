// Package hook implements hooktrail-hook, the program that agents run for each hook. It passes the
// payload to a running publisher over its socket, and prints the answer.
//
// In all other cases, it replaces itself by a larger program with the same command line and
// payload. This is hooktrail-capture, or publisher hook for rare cases. These programs do the same,
// and take longer to start. So this package links little more than a socket.
package hook

import (
	"encoding/hex"
	"errors"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/hooksocket"
	"github.com/hooktrail/hooktrail/internal/platform/unixsocket"
)

// Main runs the program with the arguments of the process and exits.
func Main() { os.Exit(Run(os.Args[1:])) } //nolint:forbidigo // package cli is too large for this program

// Run runs the program and returns its exit status.
func Run(args []string) int {
	l, ok := parse(args, os.Getenv)
	if !ok || l.needsFull() {
		return replace(fullPrograms, args, nil)
	}
	if l.needsOwn() {
		return replace(programs, args, nil)
	}
	payload, answer, err := l.ask(new(unixsocket.FD))
	if err != nil {
		if errors.Is(err, errUnfinished) {
			args = append(args, "--"+hooksocket.UnansweredFlag)
		}
		return replace(programs, args, payload)
	}
	if _, err := os.Stdout.Write(answer.stdout); err != nil {
		say("print the answer: " + err.Error())
	}
	if answer.stderr != "" {
		_, _ = os.Stderr.WriteString(answer.stderr)
	}
	return answer.exit
}

func say(text string) { _, _ = os.Stderr.WriteString("hooktrail-hook: " + text + "\n") }

type answer struct {
	stdout []byte
	stderr string
	exit   int
}

var (
	errNoAnswer   = errors.New("no answer of a publisher")
	errUnfinished = errors.New("a publisher began to answer and did not end in time")
)

func (l *line) ask(stdin *unixsocket.FD) (payload []byte, a answer, err error) {
	key, ok := l.idKey()
	if !ok || hooksocket.BreakerOf(l.dataDir, l.publisher).IsOpen() {
		return nil, a, errNoAnswer
	}
	until := time.Now().Add(l.timeout + hooksocket.Grace)
	conn, err := l.connect()
	if err != nil {
		return nil, a, err
	}
	defer func() { _ = conn.Close() }() // the response is complete, or its error counts
	stdin.SetDeadline(until)            // because an agent may leave stdin open
	if payload, err = read(stdin); err != nil {
		return payload, a, err
	}
	resp, err := l.post(conn, key, payload, until)
	if err != nil {
		return payload, a, err
	}
	a.stdout = resp.Body
	exit, errExit := strconv.Atoi(resp.Header.Get(hooksocket.ExitHeader))
	stderr, errText := url.QueryUnescape(resp.Header.Get(hooksocket.StderrHeader))
	if resp.Code != 200 || errExit != nil || errText != nil {
		return payload, a, errNoAnswer
	}
	a.exit, a.stderr = exit, stderr
	return payload, a, nil
}

func (l *line) connect() (*unixsocket.FD, error) {
	if l.publisher != "" {
		path := strings.TrimPrefix(l.publisher, unixScheme)
		if err := unixsocket.CheckShared(path); err != nil {
			return nil, err
		}
		return unixsocket.Connect(path)
	}
	path, done, err := hooksocket.Find(l.dataDir)
	if err != nil {
		return nil, err
	}
	defer done()
	return unixsocket.Connect(path)
}

// read returns a non-nil payload even on an error, because nil means that stdin was not read.
func read(stdin io.Reader) ([]byte, error) {
	payload, err := io.ReadAll(io.LimitReader(stdin, hooksocket.MaxPayload+1))
	if err == nil && len(payload) > hooksocket.MaxPayload {
		err = errors.New("payload is too large")
	}
	return payload, err
}

func (l *line) post(conn *unixsocket.FD, key string, payload []byte, until time.Time) (hooksocket.Response, error) {
	now, wait := time.Now(), min(l.timeout, hooksocket.QuickResponse)
	if end := now.Add(l.timeout); end.Before(until) {
		until = end
	}
	conn.SetDeadline(now.Add(wait))
	query := url.Values{}
	if l.tenant != "" {
		query.Set("tenant", l.tenant)
	}
	if l.event != "" {
		query.Set("event", l.event)
	}
	req := hooksocket.Request{
		Path: "/v1/hooks/" + url.PathEscape(l.tool) + "?" + query.Encode(), Body: payload,
		Header: map[string]string{
			"Content-Type": "application/json", hooksocket.ReadableHeader: "required", hooksocket.ProgressHeader: "required",
			hooksocket.BeginHeader: hooksocket.BeginWithin(wait),
		},
	}
	if key != "" {
		req.Header[hooksocket.IDKeyHeader] = key
	}
	if l.token != "" && l.publisher != "" {
		req.Header["Authorization"] = "Bearer " + l.token
	}
	begun := false
	resp, err := hooksocket.Exchange(conn, req, func() {
		begun = true
		conn.SetDeadline(until)
	})
	if begun && errors.Is(err, os.ErrDeadlineExceeded) {
		err = errors.Join(errUnfinished, err)
	}
	return resp, err
}

func (l *line) idKey() (string, bool) {
	data, err := os.ReadFile(filepath.Join(l.dataDir, "hook-ids.key"))
	text := strings.TrimSpace(string(data))
	if err != nil {
		return "", false
	}
	if _, err := hex.DecodeString(text); err != nil {
		return "", text == "unkeyed"
	}
	return text, true
}
