package beads

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// makeSpace has bd make a workspace, unless there is one. bd can do nothing with
// what is left when it is killed while it makes one. So a file says, as long as it is
// at it, that the folder is ours: what is in it then is removed, and made again.
func (b *BD) makeSpace(ctx context.Context, sp *space) error {
	folder, begun := filepath.Join(sp.dir, ".beads"), filepath.Join(sp.dir, ".hooktrail.init")
	if _, err := os.Stat(filepath.Join(folder, "metadata.json")); err == nil {
		return finished(begun)
	}
	if err := clearSpace(folder, begun); err != nil {
		return fmt.Errorf("make workspace: %w: %w: %w", errWorkspace, ErrTransient, err)
	}
	a, err := b.callFor(ctx, initDeadline, sp.dir, "init", "--prefix=ht", "--quiet", "--non-interactive", "--skip-hooks", "--skip-agents")
	if err != nil {
		return err
	}
	if a.code != 0 {
		return fmt.Errorf("bd init ended with %d in %s: %w: %w", a.code, sp.dir, errWorkspace, ErrTransient)
	}
	return finished(begun)
}

// finished takes back that a workspace is begun: from now on it is people's, too.
func finished(begun string) error {
	if err := os.Remove(begun); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("make workspace: %w: %w: %w", errWorkspace, ErrTransient, err)
	}
	return nil
}

// clearSpace removes the folder of a workspace that was begun here and not
// finished, and notes that one is begun if there is none. What a person began stays.
func clearSpace(folder, begun string) error {
	if _, err := os.Stat(begun); err == nil {
		return os.RemoveAll(folder)
	}
	if _, err := os.Stat(folder); err == nil {
		return nil
	}
	return os.WriteFile(begun, nil, 0o600)
}
