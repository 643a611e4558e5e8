package agentfs

import (
	"fmt"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// Modes of the file system tables, and its root.
const (
	folderMode = 0o040755
	fileMode   = 0o100644
	rootInode  = 1
)

// write makes the file path of the file system tables hold content, as of the
// time at.
func (f *file) write(path string, content []byte, at time.Time) error {
	ino, err := f.create(path, at)
	if err != nil {
		return err
	}
	if err := f.empty(ino); err != nil {
		return err
	}
	return f.writeAt(ino, 0, content, at)
}

// empty removes the content of a file, whatever its names.
func (f *file) empty(ino int64) error {
	for _, query := range []string{`DELETE FROM fs_data WHERE ino = ?`, `UPDATE fs_inode SET size = 0 WHERE ino = ?`} {
		if err := f.exec(query, ino); err != nil {
			return fmt.Errorf("empty file: %w", err)
		}
	}
	return nil
}

// writeAt puts content at offset, a multiple of [chunkSize]. What lies behind
// it stays.
func (f *file) writeAt(ino, offset int64, content []byte, at time.Time) error {
	size := offset + int64(len(content))
	for index := offset / chunkSize; len(content) > 0; index++ {
		chunk := content[:min(chunkSize, len(content))]
		content = content[len(chunk):]
		if err := f.exec(`INSERT OR REPLACE INTO fs_data (ino, chunk_index, data) VALUES (?, ?, ?)`, ino, index, chunk); err != nil {
			return fmt.Errorf("write file: %w", err)
		}
	}
	if err := f.exec(`UPDATE fs_inode SET size = max(size, ?2), mtime = ?3 WHERE ino = ?1`, ino, size, at.Unix()); err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	return nil
}

// link makes path a second name of the file that target names.
func (f *file) link(target, path string, at time.Time) error {
	ino, ok, err := f.lookup(target)
	if err != nil || !ok {
		return err
	}
	if old, exists, err := f.lookup(path); err != nil || exists && old == ino {
		return err
	}
	if err := f.unlink(path); err != nil {
		return err
	}
	folder, name, err := f.folder(path, at)
	if err != nil {
		return err
	}
	if err := f.exec(`UPDATE fs_inode SET nlink = nlink + 1 WHERE ino = ?`, ino); err != nil {
		return fmt.Errorf("link file: %w", err)
	}
	return f.enter(folder, name, ino, path)
}

// create returns the inode of the file path, a new one if there is none, or if
// it has a second name, whose content must stay.
func (f *file) create(path string, at time.Time) (int64, error) {
	ino, ok, err := f.lookup(path)
	if err != nil {
		return 0, err
	}
	if ok {
		if links, err := f.number(`SELECT nlink FROM fs_inode WHERE ino = ?`, ino); err != nil || links <= 1 {
			return ino, err
		}
		if err := f.unlink(path); err != nil {
			return 0, err
		}
	}
	folder, name, err := f.folder(path, at)
	if err != nil {
		return 0, err
	}
	if ino, err = f.inode(fileMode, at); err != nil {
		return 0, err
	}
	return ino, f.enter(folder, name, ino, path)
}

// folder returns the folder of path, which it makes if need be, and the last
// name of path.
func (f *file) folder(path string, at time.Time) (int64, string, error) {
	names := strings.Split(strings.TrimPrefix(path, "/"), "/")
	ino := int64(rootInode)
	for _, name := range names[:len(names)-1] {
		next, err := f.number(`SELECT ino FROM fs_dentry WHERE parent_ino = ? AND name = ?`, ino, name)
		if err != nil {
			return 0, "", err
		}
		if next == 0 {
			if next, err = f.inode(folderMode, at); err != nil {
				return 0, "", err
			}
			if err := f.enter(ino, name, next, ""); err != nil {
				return 0, "", err
			}
		}
		ino = next
	}
	return ino, names[len(names)-1], nil
}

func (f *file) inode(mode int64, at time.Time) (int64, error) {
	err := f.exec(`INSERT INTO fs_inode (mode, nlink, atime, mtime, ctime) VALUES (?1, 1, ?2, ?2, ?2)`, mode, at.Unix())
	if err != nil {
		return 0, fmt.Errorf("make inode: %w", err)
	}
	return f.conn.LastInsertRowID(), nil
}

// enter names an inode in a folder. A path that is not empty is remembered as
// ours.
func (f *file) enter(folder int64, name string, ino int64, path string) error {
	if err := f.exec(`INSERT INTO fs_dentry (name, parent_ino, ino) VALUES (?, ?, ?)`, name, folder, ino); err != nil {
		return fmt.Errorf("name file: %w", err)
	}
	if path == "" {
		return nil
	}
	if err := f.exec(`INSERT OR IGNORE INTO hooktrail_files (path) VALUES (?)`, path); err != nil {
		return fmt.Errorf("remember file: %w", err)
	}
	return nil
}

// unlink removes a name, and the content with its last one.
func (f *file) unlink(path string) error {
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
	if err := f.exec(`DELETE FROM fs_dentry WHERE parent_ino = ? AND name = ?`, folder, path[cut+1:]); err != nil {
		return fmt.Errorf("remove file: %w", err)
	}
	if err := f.exec(`UPDATE fs_inode SET nlink = nlink - 1 WHERE ino = ?`, ino); err != nil {
		return fmt.Errorf("remove file: %w", err)
	}
	if links, err := f.number(`SELECT nlink FROM fs_inode WHERE ino = ?`, ino); err != nil || links > 0 {
		return err
	}
	if err := f.exec(`DELETE FROM fs_data WHERE ino = ?`, ino); err != nil {
		return fmt.Errorf("remove file: %w", err)
	}
	if err := f.exec(`DELETE FROM fs_inode WHERE ino = ?`, ino); err != nil {
		return fmt.Errorf("remove file: %w", err)
	}
	return nil
}

// remove removes a name and the content, which other names then have no more.
func (f *file) remove(path string) error {
	ino, ok, err := f.lookup(path)
	if err != nil || !ok {
		return err
	}
	if err := f.empty(ino); err != nil {
		return err
	}
	return f.unlink(path)
}

// lookup returns the inode that path names.
func (f *file) lookup(path string) (int64, bool, error) {
	ino := int64(rootInode)
	for name := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		next, err := f.number(`SELECT ino FROM fs_dentry WHERE parent_ino = ? AND name = ?`, ino, name)
		if err != nil || next == 0 {
			return 0, false, err
		}
		ino = next
	}
	return ino, true, nil
}

// removeFiles removes every file of ours, with its content.
func (f *file) removeFiles() error {
	paths, err := f.texts(`SELECT path FROM hooktrail_files`)
	if err != nil {
		return err
	}
	for _, path := range paths {
		if err := f.remove(path); err != nil {
			return err
		}
	}
	return f.exec(`DELETE FROM hooktrail_files`)
}

// number returns the first column of the first row of query, 0 if there is none.
func (f *file) number(query string, args ...any) (int64, error) {
	return number(f.conn, query, args...)
}

func number(conn *sqlite.Conn, query string, args ...any) (n int64, err error) {
	err = sqlitex.Execute(conn, query, &sqlitex.ExecOptions{
		Args:       args,
		ResultFunc: func(stmt *sqlite.Stmt) error { n = stmt.ColumnInt64(0); return nil },
	})
	if err != nil {
		return 0, fmt.Errorf("look up: %w", err)
	}
	return n, nil
}

func (f *file) exec(query string, args ...any) error {
	return sqlitex.Execute(f.conn, query, &sqlitex.ExecOptions{Args: args})
}
