package publisher

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/ingest/cehttp"
)

// Default size limits of a request in bytes.
const (
	// DefaultMaxBody limits a request body, in bytes. A large body needs little memory, because
	// only one event at a time is in memory.
	DefaultMaxBody = 256 << 20
	// DefaultMaxEvent limits one event.
	DefaultMaxEvent = 16 << 20
)

const (
	// A sender must send at least chunkSize bytes of its body in each chunkTimeout.
	chunkSize    = 1 << 20
	chunkTimeout = time.Minute
	replyTimeout = time.Minute
	drainLimit   = 64 << 20
	drainTimeout = 10 * time.Second
)

// drained reads the rest of a refused body before it sends the response, because many senders do
// not read while they send.
func drained(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		_ = control.SetWriteDeadline(time.Now().Add(chunkTimeout + replyTimeout)) // not every server supports deadlines
		body := r.Body
		r.Body = &timedBody{ReadCloser: body, control: control}
		next(&draining{ResponseWriter: w, body: body, expects: strings.EqualFold(r.Header.Get("Expect"), "100-continue")}, r)
	}
}

func (h *handler) sizeLimited(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, h.opts.MaxBody)
		if r.ContentLength > h.opts.MaxBody {
			h.refuse(w, r, problemOf(cehttp.BodyError(&http.MaxBytesError{Limit: h.opts.MaxBody})), nil)
			return
		}
		if err := inflate(r, h.opts.MaxBody); err != nil {
			h.refuse(w, r, problemOf(err), err)
			return
		}
		next(w, r)
	}
}

func inflate(r *http.Request, limit int64) error {
	encodings := r.Header.Values("Content-Encoding")
	if len(encodings) == 0 {
		return nil
	}
	switch encoding := strings.ToLower(strings.Join(encodings, ", ")); encoding {
	case "identity":
	case "gzip", "x-gzip":
		body, err := gzip.NewReader(r.Body)
		if err != nil {
			return cehttp.BodyError(err)
		}
		r.Body = http.MaxBytesReader(nil, body, limit)
		r.ContentLength = -1
	default:
		return &cehttp.Error{
			Status: http.StatusUnsupportedMediaType, Index: -1, Offset: -1,
			Reason: "content encoding is not supported: gzip is",
		}
	}
	r.Header.Del("Content-Encoding")
	return nil
}

type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
	read    int64
}

// Read implements [io.Reader].
func (p *timedBody) Read(b []byte) (int, error) {
	n, err := p.ReadCloser.Read(b)
	before := p.read / chunkSize
	if p.read += int64(n); p.read/chunkSize > before {
		// Ignore the errors, because some servers do not support deadlines. The write deadline is
		// later than the read deadline, so that HTTP/2 can still send a response.
		_ = p.control.SetReadDeadline(time.Now().Add(chunkTimeout))
		_ = p.control.SetWriteDeadline(time.Now().Add(chunkTimeout + replyTimeout))
	}
	return n, err
}

type draining struct {
	http.ResponseWriter
	body    io.Reader
	expects bool // the sender waits for 100 Continue
	done    bool // the status is sent
}

// Unwrap returns the wrapped writer for [http.ResponseController].
func (d *draining) Unwrap() http.ResponseWriter { return d.ResponseWriter }

// WriteHeader sends the status. For an error status, it first reads the rest of the request body,
// so that the client can receive the response.
func (d *draining) WriteHeader(status int) {
	if status < http.StatusOK {
		d.ResponseWriter.WriteHeader(status) // informational
		return
	}
	control := http.NewResponseController(d.ResponseWriter)
	if !d.done && !d.expects && status >= http.StatusBadRequest && status != http.StatusRequestTimeout {
		_ = control.SetReadDeadline(time.Now().Add(drainTimeout)) // not every server supports deadlines
		_, err := io.CopyN(io.Discard, d.body, drainLimit)
		if err != nil && !errors.Is(err, io.EOF) {
			d.Header().Set("Connection", "close")
		}
	}
	if !d.done {
		d.done = true
		_ = control.SetWriteDeadline(time.Now().Add(replyTimeout))
	}
	d.ResponseWriter.WriteHeader(status)
}

// Write writes a part of the response body. It sends the status 200 if the handler has sent none.
func (d *draining) Write(b []byte) (int, error) {
	if !d.done {
		d.WriteHeader(http.StatusOK)
	}
	return d.ResponseWriter.Write(b)
}
