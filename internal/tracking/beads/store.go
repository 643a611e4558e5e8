package beads

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/hooktrail/hooktrail/internal/stream/projection"
)

// A Store keeps issues in a database and writes them to one file for each tenant. [Store.Flush]
// stores changes in the database, and [Store.Export] writes the files. The methods may be called
// concurrently.
type Store struct {
	table  *table
	dir    string
	logger *slog.Logger
	files  map[string]*file // by tenant, guarded by table.mu
}

type place interface {
	look(ctx context.Context, tenant string) error
	probe(ctx context.Context, tenant string) error
}

// NewStore returns a Store with its tables in db and its files in dir. The database must stay open
// while the Store is in use.
func NewStore(db *projection.DB, dir string) *Store {
	return &Store{table: newTable(db), dir: dir, logger: slog.New(slog.DiscardHandler), files: make(map[string]*file)}
}

// LogTo sets the logger. Call it before the Store is used.
func (s *Store) LogTo(logger *slog.Logger) { s.logger = logger }

// Workspace returns the [Backend] for the issues of the given tenant.
func (s *Store) Workspace(tenant string) Backend {
	return &workspace{table: s.table, place: s, tenant: tenant, lookBeforeErase: true}
}

// Flush writes all pending changes to the database on disk, in one transaction.
func (s *Store) Flush(ctx context.Context) error { return s.table.lockedFlush(ctx) }

// Recover makes the next Export compare all files with the database. Call it at the start, because
// the previous process may have crashed before it updated a file.
func (s *Store) Recover(ctx context.Context) error { return s.table.recover(ctx) }

// Backlog returns the number of issues whose file does not yet contain all changes.
func (s *Store) Backlog(ctx context.Context) (int, error) { return s.table.backlog(ctx) }

// Export writes the issues from the database to the issues files, one per tenant. It does not
// overwrite changes that people made in a file. Each file is replaced atomically.
func (s *Store) Export(ctx context.Context) error {
	s.table.mu.Lock()
	defer s.table.mu.Unlock()
	var errs []error
	for _, tenant := range slices.Sorted(maps.Keys(s.table.stale)) {
		if err := ctx.Err(); err != nil {
			errs = append(errs, err)
			break
		}
		done, err := s.export(ctx, tenant)
		if err != nil {
			errs = append(errs, err)
		} else if done {
			delete(s.table.stale, tenant)
		}
	}
	if len(errs) > 0 {
		return fmt.Errorf("export issues: %w: %w", ErrTransient, errors.Join(errs...))
	}
	return nil
}

// export returns false if the file cannot be updated yet. The caller must hold table.mu.
func (s *Store) export(ctx context.Context, tenant string) (done bool, err error) {
	f, err := s.file(tenant)
	if err != nil {
		return false, err
	}
	return f.export(ctx)
}

func (s *Store) file(tenant string) (*file, error) {
	path, err := File(s.dir, tenant)
	if err != nil {
		return nil, err
	}
	f := s.files[tenant]
	if f == nil {
		f = &file{table: s.table, tenant: tenant, path: path, logger: s.logger}
		s.files[tenant] = f
	}
	return f, nil
}

func (s *Store) look(ctx context.Context, tenant string) error {
	s.table.mu.Lock()
	defer s.table.mu.Unlock()
	f, err := s.file(tenant)
	if err == nil {
		err = f.scan(ctx)
	}
	if err != nil {
		return fmt.Errorf("read issues: %w: %w", ErrTransient, err)
	}
	if f.problem != nil {
		s.table.stale[tenant] = true
		return f.problem
	}
	return nil
}

func (s *Store) probe(context.Context, string) error { return nil }
