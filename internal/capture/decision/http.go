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

// problem is the body of a refusal.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

// answerTime is what an answer gets to be sent in.
const answerTime = 10 * time.Second

// ServeHTTP answers a POST with the outcome: 200, also for a denial. Who serves
// it decides which hosts and origins may ask.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	timeout := subjects.Timeout(r.Header, s.opts.Timeout)
	data, err := readBody(w, r)
	// A slow body may have taken all of the server's time; the rest gets its own.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(timeout + answerTime)) // not every server has one
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
	w.Write([]byte(answer)) //nolint:gosec // JSON, and said to be
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
		return // not reached: text can be encoded
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(why.status)
	w.Write(body)
}
