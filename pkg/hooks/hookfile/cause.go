package hookfile

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/redact"
)

// Limits on the part of stderr that a failure quotes.
const (
	maxTailLines = 3
	maxTail      = 300
	minQuoted    = 6 // bytes of a text of the document that is not quoted
)

// withStderr adds the last lines of stderr to a fault. Texts of the document, secrets and personal
// data in them are replaced, because faults are logged and recorded.
func withStderr(fault hooks.Fault, stderr []byte, d hooks.Document) hooks.Fault {
	tail := lastLines(strings.ToValidUTF8(string(stderr), "\ufffd"))
	if tail == "" {
		return fault
	}
	tail, ok := withoutSecrets(withoutInput(tail, d))
	if !ok {
		return fault
	}
	tail = strings.Join(strings.Fields(tail), " ")
	if len(tail) > maxTail {
		tail = "…" + strings.ToValidUTF8(tail[len(tail)-maxTail:], "")
	}
	return fault + hooks.Fault(": "+tail)
}

func lastLines(text string) string {
	const most = 4 << 10 // a longer line is cut after its secrets are replaced
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	tail := strings.Join(lines[max(len(lines)-maxTailLines, 0):], " | ")
	return strings.ToValidUTF8(tail[max(len(tail)-most, 0):], "")
}

func withoutInput(text string, d hooks.Document) string {
	var quoted []string
	for _, j := range []hooks.JSON{d.Args, d.Result, d.Payload} {
		var value any
		if j.Decode(&value) == nil {
			quoted = texts(quoted, value)
		}
	}
	quoted = append(quoted, strings.Split(d.Error, "\n")...)
	for i, s := range quoted {
		quoted[i] = strings.TrimSpace(s)
	}
	slices.SortFunc(quoted, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, s := range quoted {
		if len(s) < minQuoted {
			break
		}
		text = strings.ReplaceAll(text, s, "[input]")
	}
	return text
}

func texts(list []string, value any) []string {
	switch value := value.(type) {
	case string:
		list = append(list, strings.Split(value, "\n")...)
	case []any:
		for _, item := range value {
			list = texts(list, item)
		}
	case map[string]any:
		for _, item := range value {
			list = texts(list, item)
		}
	}
	return list
}

var secretRedactor = sync.OnceValues(func() (*redact.Redactor, error) { return redact.New(redact.Options{}) })

func withoutSecrets(text string) (string, bool) {
	r, err := secretRedactor()
	if err != nil {
		return "", false
	}
	text, _ = r.Text(text)
	return text, true
}

// remoteFault returns why a request to party, such as "server", has failed.
func remoteFault(ctx context.Context, err error, party, otherwise string) error {
	if ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) {
		return hooks.ErrTimedOut
	}
	if why := networkCause(err); why != "" {
		return hooks.Fault(party + " cannot be reached: " + why)
	}
	return hooks.Fault(party + " " + otherwise)
}

// closedIdle is the text of an error that net/http does not export. A server that closes a new
// connection at once causes it too.
const closedIdle = "http: server closed idle connection"

func networkCause(err error) string {
	dns, isDNS := errors.AsType[*net.DNSError](err)
	_, isTLS := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case isDNS && dns.IsNotFound:
		return "unknown host"
	case isDNS:
		return "name lookup failed"
	case isTLS:
		return "invalid certificate"
	case errors.Is(err, http.ErrSchemeMismatch):
		return "no TLS at this port"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		strings.HasSuffix(err.Error(), closedIdle):
		return "connection closed"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "no route"
	}
	return ""
}
