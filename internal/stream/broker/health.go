package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
)

// Kinds of the problems that Warnings lists, in this order.
const (
	warnConnection = "connection"
	warnServer     = "server"
	warnRights     = "permissions"
	warnDisk       = "disk"
	warnStore      = "store"
	warnSubjects   = "subjects"
)

const maxRefusals = 10

// ErrPermission means that the broker refuses a request because its user lacks a right.
var ErrPermission = errors.New("the broker's permissions do not allow it")

// Refusal converts the error of a missing NATS permission to an error that wraps [ErrPermission].
// It returns nil for all other errors.
func Refusal(err error) error {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return nil
	}
	_, action, ok := strings.Cut(err.Error(), "Permissions Violation for ")
	if !ok {
		action = err.Error()
	}
	return fmt.Errorf("%w: %s", ErrPermission, action)
}

func ofSubscription(refusal error) bool {
	return strings.HasPrefix(refusal.Error(), ErrPermission.Error()+": Subscription to ")
}

type health struct {
	log      *slog.Logger
	opts     Options
	mu       sync.Mutex // guards the fields below; no other lock is taken while it is held
	drift    []string
	warnings map[string]string       // by problem
	refused  map[string]bool         // texts of the refusals on this connection
	cancel   context.CancelCauseFunc // cancels a running call of unlessRefused; may be nil
}

func newHealth(opts Options) *health {
	return &health{log: opts.Logger, opts: opts, warnings: map[string]string{}, refused: map[string]bool{}}
}

func (h *health) driftNow() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.drift
}

func (h *health) warningsNow() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := append([]string(nil), h.drift...)
	for _, name := range [...]string{warnConnection, warnServer, warnRights, warnDisk, warnStore, warnSubjects} {
		if w, ok := h.warnings[name]; ok {
			all = append(all, w)
		}
	}
	return all
}

func (h *health) setDrift(ctx context.Context, drift []string) {
	h.mu.Lock()
	known := h.drift
	h.drift = drift
	h.mu.Unlock()
	for _, d := range drift {
		if slices.Contains(known, d) {
			continue
		}
		h.log.WarnContext(ctx, "stream configuration drifted", "difference", d)
	}
}

func (h *health) warn(ctx context.Context, name, text string) {
	h.mu.Lock()
	_, had := h.warnings[name]
	if text == "" {
		delete(h.warnings, name)
	} else {
		h.warnings[name] = text
	}
	h.mu.Unlock()
	switch {
	case text != "" && !had:
		h.log.WarnContext(ctx, "broker needs attention", "condition", name, "detail", text)
	case text == "" && had:
		h.log.InfoContext(ctx, "broker condition ended", "condition", name)
	}
}

func (h *health) asyncError(err error) {
	refusal := Refusal(err)
	if refusal == nil {
		h.log.Warn("broker reported an error", "error", err)
		return
	}
	h.mu.Lock()
	cancel := h.cancel
	isNew := !h.refused[refusal.Error()] && len(h.refused) < maxRefusals
	if isNew {
		h.refused[refusal.Error()] = true
		h.warnings[warnRights] = refusal.Error() + "; " + h.opts.wrongLogin()
	}
	h.mu.Unlock()
	if cancel != nil && (ofSubscription(refusal) || strings.Contains(refusal.Error(), `"$JS.API.STREAM.`)) {
		cancel(refusal)
	}
	if isNew {
		h.log.Error("broker refused a message", "error", refusal)
	}
}

func (h *health) connectFailed(text string) {
	h.mu.Lock()
	isNew := h.warnings[warnConnection] != text
	h.warnings[warnConnection] = text
	h.mu.Unlock()
	if isNew {
		h.log.Error("broker rejected the connection", "error", text)
	}
}

func (h *health) connected() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.refused)
	delete(h.warnings, warnRights)
	delete(h.warnings, warnConnection)
}

// unlessRefused calls do, and cancels it if the server refuses a request. Otherwise, do would wait
// for an answer that never comes.
func (h *health) unlessRefused(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	h.setCancel(cancel)
	defer h.setCancel(nil)
	err := do(ctx)
	cause := context.Cause(ctx)
	if err == nil || !errors.Is(cause, ErrPermission) {
		return err
	}
	return h.opts.refused(cause)
}

func (h *health) setCancel(cancel context.CancelCauseFunc) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cancel = cancel
}
