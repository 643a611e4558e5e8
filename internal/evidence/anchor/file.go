package anchor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/platform/atomicfile"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

const tenantMark = "{tenant}"

// FileUsage is the help text of a flag with a [File] value.
const FileUsage = "`file` outside the data directory for the newest checkpoint (\"{tenant}\" in its name is replaced by the tenant)"

// File is the path of a file that stores the newest checkpoint, or empty for no file. If the path
// contains "{tenant}", each tenant has a separate file.
type File string

// Validate returns an error if several tenants would overwrite each other's checkpoints in the
// same file. An empty tenant means that all tenants use f.
func (f File) Validate(tenant string) error {
	if f != "" && tenant == "" && !strings.Contains(string(f), tenantMark) {
		return fmt.Errorf("checkpoint file %s: all tenants share one file: put %s into its name, or select one tenant",
			string(f), tenantMark)
	}
	return nil
}

func (f File) path(tenant string) (string, error) {
	if !strings.Contains(string(f), tenantMark) {
		return string(f), nil
	}
	name, err := subjects.FileName(tenant)
	if err != nil {
		return "", fmt.Errorf("checkpoint file of tenant %q: %w", tenant, err)
	}
	return strings.ReplaceAll(string(f), tenantMark, name), nil
}

func (f File) name() string { return string(f) }

func (f File) load(_ context.Context, tenant string) ([]byte, uint64, error) {
	path, err := f.path(tenant)
	if err != nil {
		return nil, 0, err
	}
	signed, err := readNote(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	return signed, 0, err
}

const maxNote = 1 << 20

// Other users may control the file, so readNote refuses large files, and pipes, which could block.
func readNote(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxNote {
		return nil, fmt.Errorf("%s is no file with a checkpoint: it is %s, of %d bytes", path, info.Mode(), info.Size())
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	signed, err := io.ReadAll(io.LimitReader(f, maxNote))
	return ledger.TrimNote(signed), errors.Join(err, f.Close())
}

// store ignores the revision and overwrites the file, so only one process may call store.
func (f File) store(_ context.Context, tenant string, signed []byte, _ uint64) error {
	path, err := f.path(tenant)
	if err != nil {
		return err
	}
	return atomicfile.Write(path, signed)
}

// Checkpoint reads the tenant's checkpoint from the file. The verifier compares this checkpoint
// with the ledger.
func (f File) Checkpoint(ctx context.Context, tenant string) verifier.Anchored {
	k := verifier.Anchored{From: string(f)}
	if path, err := f.path(tenant); err == nil {
		k.From = path
	}
	k.Note, _, k.Err = f.load(ctx, tenant)
	if k.Err == nil && k.Note == nil {
		k.Err = fs.ErrNotExist
	}
	return k
}
