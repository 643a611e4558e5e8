package anchor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/platform/atomicfile"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

// tenantPlace stands for the tenant in the name of a checkpoint's file.
const tenantPlace = "{tenant}"

// FileUsage is the usage text of a flag whose value is a [File].
const FileUsage = "`file` outside the data directory in which the newest checkpoint is kept, \"{tenant}\" in its name standing for the tenant"

// File names the files in which checkpoints are kept: one file, or one
// for each tenant, where "{tenant}" is in the name. The zero File is
// none.
type File string

// Validate says what is wrong with f for the auditor of tenant, or of all.
func (f File) Validate(tenant string) error {
	if f != "" && tenant == "" && !strings.Contains(string(f), tenantPlace) {
		return fmt.Errorf("checkpoint file %s: it is one file for all tenants: put %s into its name, or name one tenant",
			string(f), tenantPlace)
	}
	return nil
}

// path returns the file of a tenant.
func (f File) path(tenant string) (string, error) {
	if !strings.Contains(string(f), tenantPlace) {
		return string(f), nil
	}
	name, err := subjects.FileName(tenant)
	if err != nil {
		return "", fmt.Errorf("checkpoint file of tenant %q: %w", tenant, err)
	}
	return strings.ReplaceAll(string(f), tenantPlace, name), nil
}

// name implements shelf.
func (f File) name() string { return string(f) }

// load implements shelf.
func (f File) load(_ context.Context, tenant string) ([]byte, uint64, error) {
	path, err := f.path(tenant)
	if err != nil {
		return nil, 0, err
	}
	signed, err := readKept(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	return signed, 0, err
}

// maxKept bounds what is read as a signed note, by whoever put it there.
const maxKept = 1 << 20

// readKept reads a file that others may write to: it neither waits for one that is a
// pipe, nor takes in one that has no end.
func readKept(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxKept {
		return nil, fmt.Errorf("%s is no file with a checkpoint: it is %s, of %d bytes", path, info.Mode(), info.Size())
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	signed, err := io.ReadAll(io.LimitReader(f, maxKept))
	return signed, errors.Join(err, f.Close())
}

// store implements shelf. The file is the old one or the new one, whole, at any
// moment; one process writes to it at a time.
func (f File) store(_ context.Context, tenant string, signed []byte, _ uint64) error {
	path, err := f.path(tenant)
	if err != nil {
		return err
	}
	return atomicfile.Write(path, signed)
}

// Kept returns the checkpoint of tenant for a verification.
func (f File) Kept(ctx context.Context, tenant string) verifier.Anchored {
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
