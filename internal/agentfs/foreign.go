package agentfs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// foreignCounts count what other tools wrote, in a file without anything of ours.
// Folders alone are none of theirs: ours stay when what lay in them goes.
var foreignCounts = []string{
	`SELECT count(*) FROM tool_calls`,
	`SELECT count(*) FROM kv_store`,
	`SELECT count(*) FROM fs_inode WHERE mode & 61440 <> 16384`,
}

// Foreign writes to out, which must not be there yet, what other tools wrote into
// the file at path, and nothing of the ledger's: what such a file is written anew
// from. It reports false, and leaves no file, when they wrote nothing. The file
// at path stays as it is. It wraps [ErrBusy] when another process has that open
// for long.
func Foreign(ctx context.Context, path, out string) (kept bool, err error) {
	made, err := os.CreateTemp(filepath.Dir(out), ".agentfs-*") // mode 0600
	if err != nil {
		return false, fmt.Errorf("make file: %w", err)
	}
	defer func() { err = errors.Join(err, made.Close(), removed(made.Name())) }()
	err = visit(ctx, path, leaveTimeout, func(f *file) error { return f.exec("VACUUM INTO ?", made.Name()) })
	if err == nil {
		kept, err = strip(ctx, made.Name())
	}
	if err == nil && kept {
		err = made.Sync()
	}
	if err == nil && kept {
		err = os.Rename(made.Name(), out)
	}
	if err != nil {
		return false, fmt.Errorf("take from %s what other tools wrote: %w", path, err)
	}
	return kept, nil
}

// strip removes what this package wrote from the file at path, the pages that it
// lay on too. It reports whether anything is left.
func strip(ctx context.Context, path string) (left bool, err error) {
	f, err := openFile(ctx, path)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	if err := f.reset(); err != nil {
		return false, err
	}
	if err := f.commit(); err != nil {
		return false, err
	}
	for _, query := range foreignCounts {
		n, err := f.number(query)
		if err != nil {
			return false, err
		}
		left = left || n > 0
	}
	return left, f.exec("VACUUM")
}

// Routes returns where the file lies, below dir, that says which run of a tenant
// lies in which file.
func Routes(tenant string) string { return filepath.Join(".routes", escapeID(tenant)+".db") }
