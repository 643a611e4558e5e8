package decision

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/hooks/wire"
)

// problem is the body of an error response.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

// responseTimeout is the time to send a response.
const responseTimeout = 10 * time.Second

// ServeHTTP answers a POST with 200 and the outcome, which can be a denial. The caller
// must check hosts and origins.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	timeout := subjects.Timeout(r.Header, s.opts.Timeout)
	data, err := readBody(w, r)
	// A slow body may have used up the write timeout. Not every server supports deadlines.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(timeout + responseTimeout))
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	answer, err := s.decide(r.Context(), data, s.opts.Caller(r.Context()), timeout)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Write([]byte(answer)) //nolint:gosec // the content type is JSON
}

// readBody returns the document of a request.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	switch media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); {
	case err == nil && (media == "application/json" || media == "application/cloudevents+json"):
	default:
		return nil, &refusal{http.StatusUnsupportedMediaType, "content type: want application/json or application/cloudevents+json"}
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, wire.MaxBytes))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, errTooLarge
	}
	if err != nil {
		return nil, &refusal{http.StatusBadRequest, "the body was cut off"}
	}
	return data, nil
}

func (s *Service) refuse(w http.ResponseWriter, r *http.Request, err error) {
	why := refused(err)
	if why.status >= http.StatusInternalServerError {
		w.Header().Set("Retry-After", "1")
		s.opts.Logger.WarnContext(r.Context(), "decision refused", "status", why.status, "error", why)
	}
	body, err := json.Marshal(problem{Type: "about:blank", Title: http.StatusText(why.status), Status: why.status, Detail: why.detail})
	if err != nil {
		return // unreachable: a problem can always be encoded
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(why.status)
	w.Write(body)
}
