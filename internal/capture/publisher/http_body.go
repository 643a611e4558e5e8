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

// The limits of a request whose handler sets no others.
const (
	// DefaultMaxBody bounds the body of a request. A batch is not held in
	// memory, so it may be large.
	DefaultMaxBody = 256 << 20
	// DefaultMaxEvent bounds one event, which is.
	DefaultMaxEvent = 16 << 20
)

const (
	// pace is how much of a body has to come in each paceTime.
	pace     = 1 << 20
	paceTime = time.Minute
	// replyTimeout bounds how long answering goes on after a body was read.
	replyTimeout = time.Minute
	// drainLimit bounds what is read of a body that was refused, so that its
	// sender comes to read the answer; drainTime bounds how long.
	drainLimit = 64 << 20
	drainTime  = 10 * time.Second
)

// drained has what is left of a body that is refused read to its end, within
// bounds, whoever refuses it: many senders read no answer before they have sent
// all.
func drained(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		_ = control.SetWriteDeadline(time.Now().Add(paceTime + replyTimeout)) // not every server has one
		body := r.Body
		r.Body = &paced{ReadCloser: body, control: control}
		next(&draining{ResponseWriter: w, body: body, waits: strings.EqualFold(r.Header.Get("Expect"), "100-continue")}, r)
	}
}

// limited gives next a body that is bounded, before and after it is inflated,
// and has no content encoding any more.
func (h *handler) limited(next http.HandlerFunc) http.HandlerFunc {
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

// inflate replaces the body of r by what its content encoding stands for.
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

// paced is a body whose sender gets more time as long as it sends: the server's
// own time is for all of a request, and a large one may need more.
type paced struct {
	io.ReadCloser
	control *http.ResponseController
	read    int64
}

// Read reads from the body.
func (p *paced) Read(b []byte) (int, error) {
	n, err := p.ReadCloser.Read(b)
	before := p.read / pace
	if p.read += int64(n); p.read/pace > before {
		// Not every server has them. Over HTTP/2 it is too late for an answer once
		// its time is over: that has to end behind the time of the body.
		_ = p.control.SetReadDeadline(time.Now().Add(paceTime))
		_ = p.control.SetWriteDeadline(time.Now().Add(paceTime + replyTimeout))
	}
	return n, err
}

// draining is a ResponseWriter that, before it answers, reads what is left of
// the body of a request that is refused.
type draining struct {
	http.ResponseWriter
	body  io.Reader
	waits bool // the sender sends nothing before it is told to
	done  bool
}

// Unwrap is for [http.ResponseController].
func (d *draining) Unwrap() http.ResponseWriter { return d.ResponseWriter }

// WriteHeader answers.
func (d *draining) WriteHeader(status int) {
	control := http.NewResponseController(d.ResponseWriter)
	if !d.done && !d.waits && status >= http.StatusBadRequest && status != http.StatusRequestTimeout {
		_ = control.SetReadDeadline(time.Now().Add(drainTime)) // not every server has one
		_, err := io.CopyN(io.Discard, d.body, drainLimit)
		if err != nil && !errors.Is(err, io.EOF) {
			d.Header().Set("Connection", "close")
		}
	}
	if !d.done {
		d.done = true
		// A slow body may have taken all of the server's time; the answer gets its own.
		_ = control.SetWriteDeadline(time.Now().Add(replyTimeout)) // not every server has one
	}
	d.ResponseWriter.WriteHeader(status)
}

// Write answers with 200 if nothing else was said.
func (d *draining) Write(b []byte) (int, error) {
	if !d.done {
		d.WriteHeader(http.StatusOK)
	}
	return d.ResponseWriter.Write(b)
}
