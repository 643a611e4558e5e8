package decision

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/intake"
	"github.com/hooktrail/hooktrail/internal/capture/problem"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/hooks/wire"
)

const responseTimeout = 10 * time.Second

// ServeHTTP answers a POST request. The caller must check the headers Host and Origin first.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	timeout := subjects.Timeout(r.Header, s.opts.Timeout)
	data, err := readBody(w, r)
	// Set a new deadline, because a slow body may have used up the old one. Ignore the error,
	// because some servers do not support deadlines.
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
	if busy, ok := errors.AsType[*intake.BusyError](err); ok {
		busy.SetHeader(w.Header())
		return nil, &refusal{busy.Status, busy.Error()}
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
	if err := (problem.Problem{Status: why.status, Detail: why.detail}).Write(w); err != nil {
		s.opts.Logger.DebugContext(r.Context(), "response was not sent", "error", err)
	}
}
