package anchor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
)

const roundTimeout = 10 * time.Second

type storage interface {
	name() string
	// load returns the stored note and its revision. signed is nil if no note is stored.
	load(ctx context.Context, tenant string) (signed []byte, revision uint64, err error)
	// store replaces the stored note. A bucket refuses the write if the note was changed after
	// revision.
	store(ctx context.Context, tenant string, signed []byte, revision uint64) error
}

type storageAnchor struct {
	uploads   *uploads
	ledgerDir string
	storage   storage
	keys      note.Verifiers
}

func newStorageAnchor(o Options, s storage) *storageAnchor {
	a := &storageAnchor{ledgerDir: o.LedgerDir, storage: s, keys: o.Keys}
	a.uploads = newUploads(o, "in "+s.name(), a.upload)
	a.uploads.timeout = roundTimeout
	return a
}

func (a *storageAnchor) upload(ctx context.Context, tenant string) error {
	newest, revision, err := a.prepare(ctx, tenant)
	if err != nil || newest == nil {
		return err
	}
	return a.storage.store(ctx, tenant, newest, revision)
}

func (a *storageAnchor) prepare(ctx context.Context, tenant string) (newest []byte, revision uint64, err error) {
	r, err := ledger.OpenTenant(a.ledgerDir, tenant)
	if errors.Is(err, os.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	kept, revision, err := a.storage.load(ctx, tenant)
	if err != nil {
		return nil, 0, err
	}
	newest, err = a.next(ctx, r, kept)
	return newest, revision, err
}

// ErrForked means that a ledger does not continue a checkpoint that was stored outside it.
var ErrForked = errors.New("the ledger is not what it was when the kept checkpoint was signed")

var errBehind = errors.New("it is an older copy, or has to catch up")

var errShort = errors.New("it is shorter at the same position of the stream: it was cut off, or did not begin with the stream " +
	"(start a standby from a copy of the other auditor's ledger folder)")

func (a *storageAnchor) next(ctx context.Context, r *ledger.Reader, storedNote []byte) (newest []byte, err error) {
	err = r.Tree().Read(ctx, func(signed []byte, hashes tlog.HashReader) error {
		now, err := ledger.OpenCheckpoint(signed, a.keys)
		if err != nil {
			return err
		}
		if cosigned, err := r.Tree().Cosigned(signed); err == nil {
			signed = cosigned
		}
		if storedNote = ledger.TrimNote(storedNote); storedNote == nil {
			newest = signed
			return nil
		}
		then, err := ledger.OpenCheckpoint(storedNote, a.keys)
		if err != nil {
			return fmt.Errorf("stored checkpoint is not replaced: %w", err)
		}
		if bytes.Equal(storedNote, signed) {
			return nil
		}
		if err := continues(now, then, hashes); err != nil {
			return err
		}
		if now.Arrivals > then.Arrivals || !now.Time.Before(then.Time) {
			newest = signed
		}
		return nil
	})
	return newest, err
}

func continues(newer, older ledger.Checkpoint, hashes tlog.HashReader) error {
	if newer.Tenant != older.Tenant {
		return fmt.Errorf("%w: it is of tenant %q", ErrForked, older.Tenant)
	}
	if newer.Size < older.Size || newer.Arrivals < older.Arrivals {
		why := errBehind
		if read, was := newer.Position, older.Position; read.Stream.Equal(was.Stream) && read.Sequence >= was.Sequence {
			why = errShort
		}
		return fmt.Errorf("%w: it had %d leaves, and has %d: %w", ErrForked, older.Size, newer.Size, why)
	}
	root, err := tlog.TreeHash(older.Size, hashes)
	if err != nil {
		return err
	}
	if root != older.Root {
		return fmt.Errorf("%w: the root of the first %d leaves is another one", ErrForked, older.Size)
	}
	return nil
}
