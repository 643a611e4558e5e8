package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const (
	entriesPerPage = 256
	bytesPerPage   = 4 << 20
)

// Entry is one record of a ledger.
type Entry struct {
	Leaf           int64 // index of its leaf, from 0
	Class          Class
	Finding        Finding // of a conflict or a message in quarantine
	ID             string
	Producer       string
	Sequence       uint64 // the producer's; of a manifest, the last one that it lists
	Run            string
	Kind           events.Kind
	Time           time.Time // of the event, UTC; zero when its leaf has none
	Epoch          uint64    // of the stream that it came from; see [Position]
	StreamSequence uint64
	Stored         time.Time   // when the server stored the message
	Hash           events.Hash // of Bytes
	Bytes          []byte      // the event or manifest, verbatim; nil when they were removed
	Removal        Removal     // what became of the bytes; zero while they are there
}

// Manifest reports whether the record is a producer's manifest.
func (e Entry) Manifest() bool { return e.Class == ClassManifest }

// Reader reads a ledger. It never writes, works beside a running writer, and may
// be used concurrently. It believes what the file says: [verifier.Verify] does not.
type Reader struct {
	mu   sync.Mutex // guards file; held for one page at a time
	file *File

	path   string
	tenant string
}

// OpenReader opens the ledger in the file at path. It wraps [fs.ErrNotExist] when
// there is none, or none yet because its writer was killed before it made one.
func OpenReader(path string) (*Reader, error) {
	r := &Reader{path: path}
	if err := r.open(); err != nil {
		return nil, fmt.Errorf("read ledger %s: %w", path, Refusal(err))
	}
	return r, nil
}

// OpenTenant opens the ledger of tenant below dir, and no other that lies in its
// place.
func OpenTenant(dir, tenant string) (*Reader, error) {
	path, err := Path(dir, tenant)
	if err != nil {
		return nil, err
	}
	r, err := OpenReader(path)
	if err != nil {
		return nil, err
	}
	if r.tenant != tenant {
		err := fmt.Errorf("read ledger %s: %w: it is that of tenant %q", path, ErrDamaged, r.tenant)
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *Reader) open() (err error) {
	if r.file, err = OpenFile(r.path); err != nil {
		return err
	}
	fresh, err := CheckFormat(r.file.Conn)
	if fresh {
		err = fs.ErrNotExist
	}
	if err != nil {
		return errors.Join(err, r.file.Close())
	}
	c, err := newest(r.file.Conn)
	if err != nil {
		return errors.Join(err, r.file.Close())
	}
	r.tenant = c.Tenant
	return nil
}

// reopen opens the file anew. When that fails the reader stays as it is, to be
// tried again or closed.
func (r *Reader) reopen() error {
	again, err := OpenReader(r.path)
	if err != nil {
		return err
	}
	if again.tenant != r.tenant {
		err := fmt.Errorf("read ledger %s: %w: it has become that of tenant %q", r.path, ErrDamaged, again.tenant)
		return errors.Join(err, again.file.Close())
	}
	old := r.file
	r.file = again.file
	return old.Close()
}

// newest returns the newest checkpoint, its signature unchecked.
func newest(conn *sqlite.Conn) (Checkpoint, error) {
	signed, err := NewestNote(conn)
	if err != nil {
		return Checkpoint{}, err
	}
	return ReadCheckpoint(signed)
}

// Close closes the file.
func (r *Reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.file.Close()
}

// Tenant returns whose ledger it is.
func (r *Reader) Tenant() string { return r.tenant }

// view calls read with a connection, in one transaction of the database.
func (r *Reader) view(ctx context.Context, read func(*sqlite.Conn) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if r.file.Changed() {
		if err := r.reopen(); err != nil {
			return err
		}
	}
	if err := sqlitetx.Within(ctx, r.file.Conn, sqlitetx.BeginRead, func() error { return read(r.file.Conn) }); err != nil {
		return fmt.Errorf("read ledger %s: %w", r.path, Refusal(err))
	}
	return nil
}

// Newest returns the newest checkpoint, its signature unchecked.
func (r *Reader) Newest(ctx context.Context) (c Checkpoint, err error) {
	err = r.view(ctx, func(conn *sqlite.Conn) error {
		c, err = newest(conn)
		return err
	})
	return c, err
}

// After yields the records behind leaf in the order of the tree; those behind -1
// are all. No transaction is open while the caller has the entry.
func (r *Reader) After(ctx context.Context, leaf int64) iter.Seq2[Entry, error] {
	return r.pages(ctx, leaf, "")
}

// Run yields the events of a run in the order of the tree: not the manifests,
// which have no run, nor conflicts and what is in quarantine.
func (r *Reader) Run(ctx context.Context, run string) iter.Seq2[Entry, error] {
	return r.pages(ctx, -1, ` AND l.run = (SELECT run FROM runs WHERE name = ?4) AND l.class = 'event'`, run)
}

// Has reports whether the ledger has events of a run.
func (r *Reader) Has(ctx context.Context, run string) (bool, error) {
	for _, err := range r.Run(ctx, run) {
		return err == nil, err
	}
	return false, nil
}

// pages reads page by page.
func (r *Reader) pages(ctx context.Context, after int64, where string, args ...any) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for {
			page, err := r.page(ctx, after, where, args...)
			if err != nil {
				yield(Entry{}, err)
				return
			}
			for _, e := range page {
				if !yield(e, nil) {
					return
				}
				after = e.Leaf
			}
			if len(page) == 0 {
				return
			}
		}
	}
}

// page reads the next records behind after. Of args the first is parameter ?4
// of where, and so on.
func (r *Reader) page(ctx context.Context, after int64, where string, args ...any) (page []Entry, err error) {
	query := `SELECT l.leaf, l.class, l.finding, l.id, pr.name, l.sequence, r.name, l.kind, l.stream, l.stored, l.hash, ` +
		`l.time, l.epoch, x.word, x.ordered, p.bytes, p.cut, b.content FROM leaves l LEFT JOIN payloads p ON p.leaf = l.leaf
		LEFT JOIN erased x ON x.leaf = l.leaf LEFT JOIN blobs b ON b.blob = p.blob LEFT JOIN producers pr ON pr.producer = l.producer
		LEFT JOIN runs r ON r.run = l.run WHERE l.leaf > ?1` + where + ` ORDER BY l.leaf LIMIT ?2`
	err = r.view(ctx, func(conn *sqlite.Conn) (err error) {
		stmt, err := conn.Prepare(query)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stmt.Reset()) }()
		stmt.BindInt64(1, after)
		stmt.BindInt64(2, entriesPerPage)
		for i, a := range args {
			switch a := a.(type) {
			case string:
				stmt.BindText(4+i, a)
			case int64:
				stmt.BindInt64(4+i, a)
			}
		}
		for size := 0; size < bytesPerPage; {
			row, err := stmt.Step()
			if err != nil || !row {
				return err
			}
			e, err := scanEntry(stmt)
			if err != nil {
				return fmt.Errorf("leaf %d: %w", e.Leaf, err)
			}
			page = append(page, e)
			size += len(e.Bytes)
		}
		return nil
	})
	return page, err
}

func scanEntry(stmt *sqlite.Stmt) (Entry, error) {
	e := Entry{
		Leaf: stmt.ColumnInt64(0), Class: Class(stmt.ColumnText(1)), Finding: Finding(stmt.ColumnText(2)),
		ID: stmt.ColumnText(3), Producer: stmt.ColumnText(4), Sequence: uint64(stmt.ColumnInt64(5)),
		Run: stmt.ColumnText(6), Kind: events.Kind(stmt.ColumnText(7)),
		StreamSequence: uint64(stmt.ColumnInt64(8)),
	}
	if stored := stmt.ColumnInt64(9); stored != 0 {
		e.Stored = time.Unix(0, stored).UTC()
	}
	if stmt.ColumnLen(10) != len(e.Hash) {
		return e, errors.New("it has no hash")
	}
	stmt.ColumnBytes(10, e.Hash[:])
	e.Epoch = uint64(stmt.ColumnInt64(12))
	var err error
	if text := stmt.ColumnText(11); text != "" {
		if e.Time, err = time.Parse(timeLayout, text); err != nil {
			return e, errors.New("its time is none")
		}
	}
	if e.Removal, err = ScanRemoval(stmt, 13); err != nil || e.Removal.Done() {
		return e, err
	}
	if stmt.ColumnIsNull(15) {
		return e, ErrNoPayload
	}
	e.Bytes, err = joinPayload(stmt, 15)
	return e, err
}

// RunInfo is one run of a ledger, in a list.
type RunInfo struct {
	Run    string
	Leaves int64     // its records
	First  int64     // its first leaf
	Last   int64     // its last leaf
	Stored time.Time // when the server stored the last one
}

// Runs lists the runs, the latest first.
func (r *Reader) Runs(ctx context.Context) (runs []RunInfo, err error) {
	err = r.view(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, `SELECT r.name, s.n, s.first, s.last, l.stored FROM
			(SELECT run, count(*) n, min(leaf) first, max(leaf) last FROM leaves WHERE run > 0 GROUP BY run) s
			JOIN runs r ON r.run = s.run JOIN leaves l ON l.leaf = s.last ORDER BY s.last DESC`,
			&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
				runs = append(runs, RunInfo{
					Run: stmt.ColumnText(0), Leaves: stmt.ColumnInt64(1), First: stmt.ColumnInt64(2),
					Last: stmt.ColumnInt64(3), Stored: time.Unix(0, stmt.ColumnInt64(4)).UTC(),
				})
				return nil
			}})
	})
	return runs, err
}
