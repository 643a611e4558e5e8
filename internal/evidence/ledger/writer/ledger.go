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
	walPages      = 2000 // size of the log, in pages, at which SQLite moves it to the file (16 MB)
	minCacheBytes = 256 << 10
)

// Options are the settings of [Open] and [OpenSet].
type Options struct {
	Key        *Key             // required
	CacheBytes int64            // for one ledger (16 MiB by default), or for all ledgers of a [Set] (64 MiB)
	Now        func() time.Time // time.Now by default

	maxPages int64
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

	scrubber *scrubber

	state
	stale bool
}

// Open opens the ledger of a tenant for writing, or creates it. A new ledger gets a signed
// checkpoint at once, so a ledger without a checkpoint is always damaged.
//
// The error wraps [ledger.ErrDamaged] if the newest checkpoint does not match the file, and
// [ErrKey] if the ledger's current key is not in the key folder.
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
	l.scrubber = &scrubber{path: l.path, conn: l.conn}
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
		if err := errors.Join(atomicfile.SyncDir(folder), atomicfile.SyncDir(filepath.Dir(folder))); err != nil {
			return err
		}
	}
	if err := ledger.CheckSchema(l.conn); err != nil {
		return err
	}
	if err := l.scrubber.find(); err != nil {
		return err
	}
	if l.tenant == "" {
		if err := l.signAgain(ctx); err != nil {
			return err
		}
	}
	return l.load()
}

// connect creates the file with os.OpenFile, because SQLite would let all users read the file and
// its log.
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
		fmt.Sprintf("PRAGMA page_size=%d", pageBytes), // only takes effect in a new file
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

func (l *Ledger) resize(bytes int64) error {
	kib := max(bytes, minCacheBytes) >> 10
	return sqlitetx.Exec(l.conn, fmt.Sprintf("PRAGMA cache_size=-%d", kib))
}

func (l *Ledger) create(ctx context.Context) error {
	return sqlitetx.Within(ctx, l.conn, sqlitetx.BeginWrite, func() error {
		if fresh, err := ledger.CheckFormat(l.conn); err != nil || !fresh {
			return err
		}
		if err := ledger.MakeTables(l.conn); err != nil {
			return err
		}
		l.state = newState(l.conn, l.tenant, l.opts.Key, l.scrubber)
		_, err := l.seal(ledger.Position{})
		return err
	})
}

func (l *Ledger) load() error {
	s, err := loader{conn: l.conn, tenant: l.tenant, key: l.opts.Key}.load(l.scrubber)
	if err != nil {
		return err
	}
	l.state, l.stale = s, false
	return nil
}

// Path returns the path of the ledger file.
func (l *Ledger) Path() string { return l.path }

// Tenant returns the tenant of the ledger.
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
