package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/mod/sumdb/tlog"
	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/platform/atomicfile"
)

// witnessedFile lies beside the file of a ledger.
const witnessedFile = "witnessed.checkpoint"

// ReadWitnessed returns the checkpoint that witnesses have cosigned last, a signed
// note, which lies beside the ledger's file at path. It wraps [fs.ErrNotExist] when
// there is none. Nothing is checked.
func ReadWitnessed(path string) (signed []byte, err error) {
	f, err := os.Open(filepath.Join(filepath.Dir(path), witnessedFile))
	if err != nil {
		return nil, fmt.Errorf("witnessed checkpoint: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if signed, err = io.ReadAll(io.LimitReader(f, maxCheckpointBytes+1)); err != nil {
		return nil, fmt.Errorf("witnessed checkpoint: %w", err)
	}
	if len(signed) > maxCheckpointBytes {
		return nil, fmt.Errorf("witnessed checkpoint: %s has more than %d bytes", f.Name(), maxCheckpointBytes)
	}
	return signed, nil
}

// WriteWitnessed puts a cosigned checkpoint beside the ledger's file at path. It is
// on disk when it returns.
func WriteWitnessed(path string, signed []byte) error {
	if err := atomicfile.Write(filepath.Join(filepath.Dir(path), witnessedFile), signed); err != nil {
		return fmt.Errorf("witnessed checkpoint: %w", err)
	}
	return nil
}

// Witnessed returns the checkpoint that witnesses have cosigned last, with their
// cosignatures, and what it says: nil when there is none, or when the ledger was
// not what it says at that size. No signature is checked.
func (t Tree) Witnessed(ctx context.Context) (signed []byte, c Checkpoint, err error) {
	signed, err = ReadWitnessed(t.source.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, Checkpoint{}, nil
	}
	if err != nil {
		return nil, Checkpoint{}, err
	}
	if c, err = ReadCheckpoint(signed); err != nil || c.Tenant != t.source.tenant {
		return nil, Checkpoint{}, nil //nolint:nilerr // what is none is as good as absent: verify tells of it
	}
	err = t.Read(ctx, func(newest []byte, hashes tlog.HashReader) error {
		now, err := ReadCheckpoint(newest)
		if err != nil {
			return err
		}
		if now.Size < c.Size {
			signed = nil
			return nil
		}
		root, err := tlog.TreeHash(c.Size, hashes)
		if err == nil && root != c.Root {
			signed = nil
		}
		return err
	})
	return signed, c, err
}

// Cosigned returns a note of the ledger with the cosignatures of witnesses, where
// it is the one that they have cosigned last, and as it is otherwise.
func (t Tree) Cosigned(signed []byte) ([]byte, error) {
	witnessed, err := ReadWitnessed(t.source.path)
	if errors.Is(err, fs.ErrNotExist) {
		return signed, nil
	}
	if err != nil || !bytes.HasPrefix(witnessed, signed) {
		return signed, err
	}
	return witnessed, nil
}

// ProveWitnessed is like [Tree.Prove] below the checkpoint that witnesses have
// cosigned last, with their cosignatures. It reports ok as false where there is
// none, or the leaf came after it.
func (t Tree) ProveWitnessed(ctx context.Context, leaf int64) (p Proof, ok bool, err error) {
	signed, c, err := t.Witnessed(ctx)
	if err != nil || signed == nil || leaf < 0 || leaf >= c.Size {
		return Proof{}, false, err
	}
	err = t.source.view(ctx, func(conn *sqlite.Conn) error {
		p, err = proveBelow(conn, leaf, signed, c)
		return err
	})
	if err != nil {
		return Proof{}, false, fmt.Errorf("prove leaf %d: %w", leaf, err)
	}
	return p, true, nil
}
