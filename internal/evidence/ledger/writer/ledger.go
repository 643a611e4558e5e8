package writer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/atomicfile"
	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
)

const (
	pageBytes     = 8192
	defaultCache  = 16 << 20
	maxKnownRuns  = 4096
	walPages      = 2000 // as many pages in the log before they go to the file: 16 MB
	minCacheBytes = 256 << 10
)

// Options are the settings of [Open] and [OpenSet].
type Options struct {
	Key        *Key             // signs; required
	CacheBytes int64            // of one ledger, or of all in a [Set]; 16 MiB by default
	Now        func() time.Time // for checkpoints; time.Now by default

	maxPages int64 // tests: how large the file may grow
}

func (o Options) withDefaults() Options {
	if o.CacheBytes <= 0 {
		o.CacheBytes = defaultCache
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Ledger is one tenant's ledger, open for writing.
type Ledger struct {
	path   string
	tenant string
	opts   Options
	conn   *sqlite.Conn

	unclean bool // what was erased may still lie in the file somewhere: see [Ledger.Scrub]
	rebuilt bool // not in the tables any more, but in the log perhaps

	state
}

// state is what the writer remembers between batches. It is all read from the
// file, and read again after a batch that failed.
type state struct {
	newest    ledger.Checkpoint
	tree      tree
	tail      []byte // of the hashes, in the row that is not full
	arrivals  ledger.Arrivals
	producers map[string]*producer
	runs      map[string]int64 // some of them
	holds     []ledger.Order   // that are in force
	keys      int              // of the ring that are not in charge any more
	stale     bool             // the file may differ
}

// producer is what the writer remembers of a producer.
type producer struct {
	number int64
	high   int64 // its highest sequence so far
}

// Open opens the ledger of tenant below dir for writing, and makes it when there
// is none: with a first, signed checkpoint of nothing, so that an emptied ledger
// is not taken for a new one. It returns an error that wraps [ledger.ErrDamaged] if the
// newest checkpoint is not signed by the key or does not fit the file, and one that
// wraps [ErrKey] if the ledger was given to a key that is not here.
func Open(ctx context.Context, dir, tenant string, opts Options) (*Ledger, error) {
	if opts.Key == nil {
		return nil, errors.New("open ledger: options: Key is missing")
	}
	path, err := ledger.Path(dir, tenant)
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	l := &Ledger{path: path, tenant: tenant, opts: opts.withDefaults()}
	if err := l.open(ctx); err != nil {
		if l.conn != nil {
			err = errors.Join(err, l.conn.Close())
		}
		return nil, fmt.Errorf("open ledger %s: %w", path, ledger.Refusal(err))
	}
	return l, nil
}

func (l *Ledger) open(ctx context.Context) (err error) {
	folder := filepath.Dir(l.path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if err := l.connect(); err != nil {
		return err
	}
	fresh, err := ledger.CheckFormat(l.conn)
	if err != nil {
		return err
	}
	if err := l.configure(); err != nil {
		return err
	}
	if fresh {
		if err := l.create(ctx); err != nil {
			return err
		}
		// The folder's own entry is on disk before anything is claimed to be.
		if err := errors.Join(atomicfile.SyncDir(folder), atomicfile.SyncDir(filepath.Dir(folder))); err != nil {
			return err
		}
	}
	if err := ledger.CheckSchema(l.conn); err != nil {
		return err
	}
	if err := l.findSoil(); err != nil {
		return err
	}
	if l.tenant == "" {
		if err := l.signAgain(ctx); err != nil {
			return err
		}
	}
	return l.load()
}

// connect opens the file. SQLite would make it readable for all; its log
// inherits the mode.
func (l *Ledger) connect() error {
	f, err := os.OpenFile(l.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if l.conn, err = sqlite.OpenConn(l.path, sqlite.OpenReadWrite); err != nil {
		return err
	}
	l.conn.SetBusyTimeout(ledger.BusyTimeout)
	return nil
}

func (l *Ledger) configure() error {
	settings := []string{
		fmt.Sprintf("PRAGMA page_size=%d", pageBytes), // of a file that is made now
		"PRAGMA journal_mode=WAL",
		"PRAGMA synchronous=FULL",
		fmt.Sprintf("PRAGMA wal_autocheckpoint=%d", walPages),
		"PRAGMA temp_store=MEMORY",
		"PRAGMA secure_delete=ON",
	}
	if l.opts.maxPages > 0 {
		settings = append(settings, fmt.Sprintf("PRAGMA max_page_count=%d", l.opts.maxPages))
	}
	for _, s := range settings {
		if err := sqlitetx.Exec(l.conn, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return l.resize(l.opts.CacheBytes)
}

// resize gives the ledger that much of the cache.
func (l *Ledger) resize(bytes int64) error {
	kib := max(bytes, minCacheBytes) >> 10
	return sqlitetx.Exec(l.conn, fmt.Sprintf("PRAGMA cache_size=-%d", kib))
}

// create makes the tables and the checkpoint of nothing, unless another process
// has been faster.
func (l *Ledger) create(ctx context.Context) error {
	return sqlitetx.Within(ctx, l.conn, sqlitetx.BeginWrite, func() error {
		if fresh, err := ledger.CheckFormat(l.conn); err != nil || !fresh {
			return err
		}
		if err := ledger.MakeTables(l.conn); err != nil {
			return err
		}
		l.state = state{keys: l.opts.Key.first(l.tenant)}
		_, err := l.seal(ledger.Position{})
		return err
	})
}

// Path returns its file.
func (l *Ledger) Path() string { return l.path }

// Tenant returns whose ledger it is.
func (l *Ledger) Tenant() string { return l.tenant }

// Newest returns the newest checkpoint.
func (l *Ledger) Newest() ledger.Checkpoint { return l.newest }

// Close closes the file.
func (l *Ledger) Close() error {
	if err := l.conn.Close(); err != nil {
		return fmt.Errorf("close ledger %s: %w", l.Path(), err)
	}
	return nil
}
