package tiles

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/transparency"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

const (
	immutable = "public, max-age=31536000, immutable"
	fresh     = "no-cache"

	readers = 16 // concurrent requests that read ledgers
)

// Handler serves the ledgers in the folder dir as read-only logs, or only those of tenants. Paths
// begin with the origin, "hooktrail/TENANT". The handler is safe for concurrent use.
func Handler(dir string, tenants []string, logger *slog.Logger) http.Handler {
	h := &handler{dir: dir, tenants: tenants, logger: logger, slots: make(chan struct{}, readers), served: make(map[string]int64)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /hooktrail/{tenant}/checkpoint", h.checkpoint)
	mux.HandleFunc("GET /hooktrail/{tenant}/tile/{path...}", h.tile)
	return mux
}

type handler struct {
	dir     string
	tenants []string // empty means all
	logger  *slog.Logger
	slots   chan struct{} // one element for each open ledger

	mu     sync.Mutex       // guards served
	served map[string]int64 // size of the last served checkpoint, by tenant
}

func (h *handler) checkpoint(w http.ResponseWriter, req *http.Request) {
	h.answer(w, req, func(ctx context.Context, r *ledger.Reader) ([]byte, error) {
		signed, err := h.newest(ctx, r)
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", fresh)
		return signed, err
	})
}

// newest never returns a smaller tree than before, because a monitor would think that the log was
// truncated.
func (h *handler) newest(ctx context.Context, r *ledger.Reader) ([]byte, error) {
	signed, c, err := r.Tree().SignedTree(ctx)
	if err != nil {
		return nil, err
	}
	cosigned, then, err := r.Tree().Witnessed(ctx)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	size := c.Size
	if cosigned != nil && (then.Size == c.Size || c.Time.Sub(then.Time) <= verifier.WitnessLag && then.Size >= h.served[c.Tenant]) {
		signed, size = cosigned, then.Size
	}
	h.served[c.Tenant] = size
	return signed, nil
}

func (h *handler) tile(w http.ResponseWriter, req *http.Request) {
	t, err := transparency.ParseTilePath("tile/" + req.PathValue("path"))
	if err != nil {
		http.NotFound(w, req)
		return
	}
	h.answer(w, req, func(ctx context.Context, r *ledger.Reader) ([]byte, error) {
		data, err := readTile(ctx, r, t)
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Cache-Control", immutable)
		return data, err
	})
}

func (h *handler) answer(
	w http.ResponseWriter, req *http.Request, read func(context.Context, *ledger.Reader) ([]byte, error),
) {
	tenant, err := subjects.ParseToken(req.PathValue("tenant"))
	if err != nil || len(h.tenants) > 0 && !slices.Contains(h.tenants, tenant) {
		http.NotFound(w, req)
		return
	}
	ctx := req.Context()
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	case <-ctx.Done():
		return
	}
	data, err := h.read(ctx, tenant, read)
	switch {
	case errors.Is(err, os.ErrNotExist) || errors.Is(err, errNoTile):
		w.Header().Del("Cache-Control") // the tile may exist later
		http.NotFound(w, req)
	case err != nil:
		w.Header().Del("Cache-Control")
		h.logger.WarnContext(ctx, "tile request failed", "tenant", tenant, "error", err)
		http.Error(w, "the ledger could not be read", http.StatusInternalServerError)
	default:
		w.Header().Set("Content-Length", strconv.Itoa(len(data)))
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = w.Write(data) //nolint:gosec // browsers do not run these types, and an error means that the client has gone
	}
}

func (h *handler) read(
	ctx context.Context, tenant string, read func(context.Context, *ledger.Reader) ([]byte, error),
) (data []byte, err error) {
	r, err := ledger.OpenTenant(h.dir, tenant)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return read(ctx, r)
}
