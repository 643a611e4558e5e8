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

// keepLimit bounds one round of a place that does not answer.
const keepLimit = 10 * time.Second

// shelf is a place outside the ledgers where their newest checkpoints lie, one
// for each tenant.
type shelf interface {
	// name tells the place from others, in logs and reports.
	name() string
	// load returns the note that lies there, nil if none does, and its revision.
	load(ctx context.Context, tenant string) (signed []byte, revision uint64, err error)
	// store replaces what has that revision, and nothing else.
	store(ctx context.Context, tenant string, signed []byte, revision uint64) error
}

// keeper brings the newest checkpoints of the ledgers to one shelf.
//
// What lies there is replaced only by a checkpoint of the same ledger, grown: a
// ledger that was cut off or rewritten does not wipe out the proof of it.
type keeper struct {
	*rounds

	shelf shelf
	keys  note.Verifiers
}

func newKeeper(o Options, s shelf) *keeper {
	k := &keeper{shelf: s, keys: o.Keys}
	k.rounds = newRounds(o, "in "+s.name(), k.keep)
	k.limit = keepLimit
	return k
}

// keep brings the newest checkpoint of one ledger.
func (k *keeper) keep(ctx context.Context, tenant string) error {
	newest, revision, err := k.prepare(ctx, tenant)
	if err != nil || newest == nil {
		return err
	}
	return k.shelf.store(ctx, tenant, newest, revision)
}

// prepare returns the checkpoint that is to replace what has a revision on the
// shelf, nil if none is.
func (k *keeper) prepare(ctx context.Context, tenant string) (newest []byte, revision uint64, err error) {
	r, err := ledger.OpenTenant(k.ledgerDir, tenant)
	if errors.Is(err, os.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	kept, revision, err := k.shelf.load(ctx, tenant)
	if err != nil {
		return nil, 0, err
	}
	newest, err = k.next(ctx, r, kept)
	return newest, revision, err
}

// ErrForked is wrapped when what is kept outside a ledger is not what the ledger
// was.
var ErrForked = errors.New("the ledger is not what it was when the kept checkpoint was signed")

// errBehind is wrapped beside [ErrForked] when the ledger is shorter than it was:
// an older copy, or one that is still read from the stream.
var errBehind = errors.New("it is an older copy, or has to catch up")

// errShort is wrapped beside [ErrForked] when the ledger is shorter than it was, and
// was read from the stream as far: it has nothing to catch up with.
var errShort = errors.New("it has been read from the stream as far: it was cut off, or was not there from the stream's beginning " +
	"(a standby then begins with a copy of the ledger folder of the auditor that was)")

// next returns the checkpoint that is to replace what is kept, nil when that is
// the newest, or says why nothing may replace it.
func (k *keeper) next(ctx context.Context, r *ledger.Reader, kept []byte) (newest []byte, err error) {
	err = r.Tree().Read(ctx, func(signed []byte, hashes tlog.HashReader) error {
		now, err := ledger.OpenCheckpoint(signed, k.keys)
		if err != nil {
			return err
		}
		if cosigned, err := r.Tree().Cosigned(signed); err == nil {
			signed = cosigned
		}
		if kept == nil {
			newest = signed
			return nil
		}
		then, err := ledger.OpenCheckpoint(kept, k.keys)
		if err != nil {
			return fmt.Errorf("what lies there is not replaced: %w", err)
		}
		if bytes.Equal(kept, signed) {
			return nil
		}
		if err := continues(now, then, hashes); err != nil {
			return err
		}
		// What another auditor has signed of the same ledger at a later time stays.
		if now.Arrivals > then.Arrivals || !now.Time.Before(then.Time) {
			newest = signed
		}
		return nil
	})
	return newest, err
}

// continues tells whether the ledger, which now stands at a checkpoint, was then
// at the other one.
func continues(now, then ledger.Checkpoint, hashes tlog.HashReader) error {
	if now.Tenant != then.Tenant {
		return fmt.Errorf("%w: it is of tenant %q", ErrForked, then.Tenant)
	}
	if now.Size < then.Size || now.Arrivals < then.Arrivals {
		why := errBehind
		if read, was := now.Position, then.Position; read.Stream.Equal(was.Stream) && read.Sequence >= was.Sequence {
			why = errShort
		}
		return fmt.Errorf("%w: it had %d leaves, and has %d: %w", ErrForked, then.Size, now.Size, why)
	}
	root, err := tlog.TreeHash(then.Size, hashes)
	if err != nil {
		return err
	}
	if root != then.Root {
		return fmt.Errorf("%w: the root of the first %d leaves is another one", ErrForked, then.Size)
	}
	return nil
}
