package publisher

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/cehttp"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/otlp"
	"github.com/hooktrail/hooktrail/internal/capture/problem"
	"github.com/hooktrail/hooktrail/internal/capture/quota"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// otlp reports unusable items as a partial success, because an exporter would repeat the whole
// request after an error.
func (h *handler) otlp(signal otlp.Signal) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if err != nil || media != otlp.JSON && media != otlp.Protobuf {
			h.refuse(w, r, problem.Problem{Status: http.StatusUnsupportedMediaType, Detail: "content type: want " + otlp.JSON + " or " + otlp.Protobuf}, nil)
			return
		}
		limit := min(DefaultMaxEvent, h.opts.MaxBody)
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
		if err != nil {
			h.refuseOTLP(w, r, media, problemOf(cehttp.BodyError(err)), err)
			return
		}
		rejected, why, err := h.decodeOTLP(r.Context(), signal, media, body)
		if err != nil {
			h.refuseOTLP(w, r, media, problemOfOTLP(err), err)
			return
		}
		h.write(w, r, http.StatusOK, media, otlp.Answer(signal, media, rejected, why))
	}
}

const (
	// largeTelemetry is the size in bytes above which the decoding of a body must wait. At most
	// maxDecoding large bodies are decoded at once, because decoding takes many times the memory of
	// the body.
	largeTelemetry = 1 << 20
	maxDecoding    = 2
)

// decodeOTLP counts the whole body towards the limits of the tenant, even if the body contains no
// events.
func (h *handler) decodeOTLP(ctx context.Context, signal otlp.Signal, media string, body []byte) (rejected int, why string, err error) {
	tenant := orDefault(TenantOf(ctx))
	if err := h.checkBody(tenant); err != nil {
		return 0, "", err
	}
	if len(body) > largeTelemetry {
		select {
		case h.decoding <- struct{}{}:
			defer func() { <-h.decoding }()
		case <-ctx.Done():
			return 0, "", ctx.Err()
		}
	}
	var done accepted
	defer func() { h.chargeBody(tenant, len(body)-done.bytes) }()
	return h.takeOTLP(ctx, signal, media, body, &done)
}

func (h *handler) takeOTLP(ctx context.Context, signal otlp.Signal, media string, body []byte, done *accepted) (rejected int, why string, err error) {
	to := h.to
	if signal == otlp.Logs {
		to = h.logs
	}
	opts := otlp.Options{Tenant: orDefault(TenantOf(ctx)), Now: time.Now().UTC(), CallIDs: h.calls}
	for e, err := range otlp.Events(signal, media, body, opts) {
		if err == nil {
			err = h.take(ctx, to, e, done)
		}
		_, isRejected := errors.AsType[*otlp.RejectedError](err)
		_, isInvalid := errors.AsType[*events.InvalidError](err)
		switch {
		case err == nil:
		case isRejected, isInvalid, errors.Is(err, subjects.ErrID), errors.Is(err, ingest.ErrReserved):
			if rejected++; rejected == 1 {
				why = "the first, " + err.Error()
			}
		default:
			return 0, "", err
		}
	}
	return rejected, why, nil
}

func problemOfOTLP(err error) problem.Problem {
	if errors.Is(err, otlp.ErrDocument) {
		return problem.Problem{Status: http.StatusBadRequest, Detail: err.Error()}
	}
	if errors.Is(err, otlp.ErrItems) {
		return problem.Problem{Status: http.StatusRequestEntityTooLarge, Detail: err.Error()}
	}
	return problemOf(err)
}

const (
	grpcInvalidArgument   = 3
	grpcResourceExhausted = 8
	grpcUnavailable       = 14
)

func (h *handler) refuseOTLP(w http.ResponseWriter, r *http.Request, media string, p problem.Problem, cause error) {
	code := grpcInvalidArgument
	switch {
	case p.Status == http.StatusTooManyRequests:
		code = grpcResourceExhausted
		if exceeded, ok := errors.AsType[*quota.ExceededError](cause); ok {
			exceeded.SetRetryAfter(w.Header())
		}
		setBusy(w, cause)
	case p.Status == http.StatusRequestEntityTooLarge:
		code = grpcResourceExhausted
	case p.Status >= http.StatusInternalServerError:
		// Use status 503, because exporters repeat a request after 503 but not after 500.
		code, p.Status = grpcUnavailable, http.StatusServiceUnavailable
		w.Header().Set("Retry-After", "1")
		setBusy(w, cause)
		h.opts.Logger.WarnContext(r.Context(), "telemetry refused", "status", p.Status, "error", cause)
	}
	h.write(w, r, p.Status, media, otlp.Refusal(media, code, p.Detail))
}

func (h *handler) write(w http.ResponseWriter, r *http.Request, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if _, err := w.Write(body); err != nil { //nolint:gosec // the content type is JSON or protobuf
		h.opts.Logger.DebugContext(r.Context(), "response was not sent", "error", err)
	}
}
