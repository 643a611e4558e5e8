package agentfs

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

func (f *fileSystem) unlink(path string) error {
	ino, ok, err := f.lookup(path)
	if err != nil || !ok {
		return err
	}
	cut := strings.LastIndexByte(path, '/')
	folder := int64(rootInode)
	if cut > 0 {
		if folder, _, err = f.lookup(path[:cut]); err != nil {
			return err
		}
	}
	if err := execute(f.conn, `DELETE FROM fs_dentry WHERE parent_ino = ? AND name = ?`, folder, path[cut+1:]); err != nil {
		return fmt.Errorf("remove file: %w", err)
	}
	if err := execute(f.conn, `UPDATE fs_inode SET nlink = nlink - 1 WHERE ino = ?`, ino); err != nil {
		return fmt.Errorf("remove file: %w", err)
	}
	if links, err := f.links(ino); err != nil || links > 0 {
		return err
	}
	if err := execute(f.conn, `DELETE FROM fs_data WHERE ino = ?`, ino); err != nil {
		return fmt.Errorf("remove file: %w", err)
	}
	if err := execute(f.conn, `DELETE FROM fs_inode WHERE ino = ?`, ino); err != nil {
		return fmt.Errorf("remove file: %w", err)
	}
	return nil
}

// remove truncates the file first, because the file's content may also be reachable under other
// names.
func (f *fileSystem) remove(path string) error {
	ino, ok, err := f.lookup(path)
	if err != nil || !ok {
		return err
	}
	if err := f.truncate(ino); err != nil {
		return err
	}
	return f.unlink(path)
}

func (f *fileSystem) removeAll() error {
	paths, err := texts(f.conn, `SELECT path FROM hooktrail_files`)
	if err != nil {
		return err
	}
	for _, path := range paths {
		if err := f.remove(path); err != nil {
			return err
		}
	}
	return execute(f.conn, `DELETE FROM hooktrail_files`)
}

func (f *fileSystem) removeFolder(folder string) error {
	from, to := prefixed(folder + "/")
	paths, err := texts(f.conn, `SELECT path FROM hooktrail_files WHERE path >= ? AND path < ? ORDER BY path`, from, to)
	if err != nil {
		return err
	}
	folders := map[string]bool{}
	for _, path := range paths {
		if err := f.remove(path); err != nil {
			return err
		}
		for parent := parentOf(path); len(parent) >= len(folder); parent = parentOf(parent) {
			folders[parent] = true
		}
	}
	if err := execute(f.conn, `DELETE FROM hooktrail_files WHERE path >= ? AND path < ?`, from, to); err != nil {
		return fmt.Errorf("remove files: %w", err)
	}
	return f.removeEmpty(folders)
}

func (f *fileSystem) removeEmpty(folders map[string]bool) error {
	innermostFirst := func(a, b string) int { return len(b) - len(a) }
	for _, name := range slices.SortedFunc(maps.Keys(folders), innermostFirst) {
		ino, ok, err := f.lookup(name)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if inside, err := number(f.conn, `SELECT count(*) FROM fs_dentry WHERE parent_ino = ?`, ino); err != nil {
			return err
		} else if inside == 0 {
			if err := f.unlink(name); err != nil {
				return err
			}
		}
	}
	return nil
}

func parentOf(path string) string { return path[:max(strings.LastIndexByte(path, '/'), 0)] }
