package auditor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/hooktrail/hooktrail/internal/c2sp"
	"github.com/hooktrail/hooktrail/internal/ledger"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

const (
	// immutable is said of tiles, fresh of checkpoints.
	immutable = "public, max-age=31536000, immutable"
	fresh     = "no-cache"

	lastAnswers = 5 * time.Second // what requests get when the server stops
	tileReaders = 16              // requests that read ledgers at a time
)

// TilesHandler serves the ledgers below a data directory as C2SP tlog-tiles logs,
// read only: a tenant's log has its checkpoints' origin, "hooktrail/" and the
// tenant, as the prefix of its paths. With a tenant it serves that one alone.
//
// It tells who recorded what kind of event when, and its hash, never what an event
// says. It may be used concurrently, and beside a running auditor.
func TilesHandler(dataDir, tenant string, logger *slog.Logger) http.Handler {
	h := &tilesHandler{dataDir: dataDir, tenant: tenant, logger: logger, slots: make(chan struct{}, tileReaders), served: make(map[string]int64)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /hooktrail/{tenant}/checkpoint", h.checkpoint)
	mux.HandleFunc("GET /hooktrail/{tenant}/tile/{path...}", h.tile)
	return mux
}

type tilesHandler struct {
	dataDir string
	tenant  string
	logger  *slog.Logger
	slots   chan struct{} // one for each request that has a ledger open

	mu     sync.Mutex       // guards served
	served map[string]int64 // by tenant: the largest tree whose checkpoint was served
}

func (h *tilesHandler) checkpoint(w http.ResponseWriter, req *http.Request) {
	h.answer(w, req, func(ctx context.Context, r *ledger.Reader) ([]byte, error) {
		signed, err := h.newest(ctx, r)
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", fresh)
		return signed, err
	})
}

// newest returns the checkpoint to serve: the one that witnesses have cosigned last,
// unless that is older than [ledger.WitnessLag], and never a smaller tree than
// before, which monitors would take for a log that was cut off.
func (h *tilesHandler) newest(ctx context.Context, r *ledger.Reader) ([]byte, error) {
	signed, c, err := newestSigned(ctx, r)
	if err != nil {
		return nil, err
	}
	cosigned, then, err := r.Witnessed(ctx)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	size := c.Size
	if cosigned != nil && (then.Size == c.Size || c.Time.Sub(then.Time) <= ledger.WitnessLag && then.Size >= h.served[c.Tenant]) {
		signed, size = cosigned, then.Size
	}
	h.served[c.Tenant] = size
	return signed, nil
}

func (h *tilesHandler) tile(w http.ResponseWriter, req *http.Request) {
	t, err := c2sp.ParseTilePath("tile/" + req.PathValue("path"))
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

// answer opens the ledger of the request and answers with what read returns.
func (h *tilesHandler) answer(
	w http.ResponseWriter, req *http.Request, read func(context.Context, *ledger.Reader) ([]byte, error),
) {
	tenant, err := subjects.ParseToken(req.PathValue("tenant"))
	if err != nil || h.tenant != "" && h.tenant != tenant {
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
		w.Header().Del("Cache-Control") // it may be there later
		http.NotFound(w, req)
	case err != nil:
		w.Header().Del("Cache-Control")
		h.logger.WarnContext(ctx, "a tile was not served", "tenant", tenant, "error", err)
		http.Error(w, "the ledger could not be read", http.StatusInternalServerError)
	default:
		w.Header().Set("Content-Length", strconv.Itoa(len(data)))
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = w.Write(data) //nolint:gosec // neither type is one that a browser runs; an error: who asked has gone
	}
}

func (h *tilesHandler) read(
	ctx context.Context, tenant string, read func(context.Context, *ledger.Reader) ([]byte, error),
) (data []byte, err error) {
	r, err := ledger.OpenTenant(LedgerDir(h.dataDir), tenant)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return read(ctx, r)
}

// inTurn serves with h, unless standsBy says that it is another auditor's turn.
func inTurn(standsBy func() bool, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if standsBy() {
			w.Header().Set("Retry-After", "5")
			http.Error(w, "this auditor stands by for another one, which serves the log", http.StatusServiceUnavailable)
			return
		}
		h.ServeHTTP(w, req)
	})
}

// tilesServer serves tiles beside the auditor.
type tilesServer struct {
	listener net.Listener
	server   *http.Server
}

// listenTiles takes the address that o asks for; nil when it asks for none. While
// standsBy says that another auditor shows checkpoints, nothing is served.
func listenTiles(ctx context.Context, o Options, standsBy func() bool) (*tilesServer, error) {
	if o.TilesListen == "" {
		return nil, nil
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", o.TilesListen)
	if err != nil {
		return nil, fmt.Errorf("serve tiles: %w", err)
	}
	o.Logger.InfoContext(ctx, "tiles are served", "url", "http://"+l.Addr().String()+"/hooktrail/TENANT")
	return &tilesServer{listener: l, server: &http.Server{
		Handler:           inTurn(standsBy, TilesHandler(o.DataDir, o.Tenant, o.Logger)),
		ReadHeaderTimeout: 5 * time.Second,
		WriteTimeout:      time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
	}}, nil
}

// run serves until ctx ends.
func (s *tilesServer) run(ctx context.Context, logger *slog.Logger) {
	if s == nil {
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			logger.ErrorContext(ctx, "tiles are not served any more", "error", err)
		}
	})
	<-ctx.Done()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastAnswers)
	defer cancel()
	if err := s.server.Shutdown(last); err != nil {
		_ = s.server.Close() // who reads too slowly is cut off
	}
	wg.Wait()
}

// close frees the address of a server that never ran.
func (s *tilesServer) close() error {
	if s == nil {
		return nil
	}
	if err := s.listener.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}
