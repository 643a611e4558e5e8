package agentfs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/pkg/events"
)

const (
	folderMode = 0o040755
	fileMode   = 0o100644
	rootInode  = 1
)

type fileSystem struct{ conn *sqlite.Conn }

func (f *fileSystem) write(path string, content []byte, at time.Time) error {
	ino, err := f.create(path, at)
	if err != nil {
		return err
	}
	if err := f.truncate(ino); err != nil {
		return err
	}
	return f.writeAt(ino, 0, content, at)
}

func (f *fileSystem) truncate(ino int64) error {
	for _, query := range []string{`DELETE FROM fs_data WHERE ino = ?`, `UPDATE fs_inode SET size = 0 WHERE ino = ?`} {
		if err := execute(f.conn, query, ino); err != nil {
			return fmt.Errorf("empty file: %w", err)
		}
	}
	return nil
}

// offset must be a multiple of [chunkSize].
func (f *fileSystem) writeAt(ino, offset int64, content []byte, at time.Time) error {
	size := offset + int64(len(content))
	for index := offset / chunkSize; len(content) > 0; index++ {
		chunk := content[:min(chunkSize, len(content))]
		content = content[len(chunk):]
		if err := execute(f.conn, `INSERT OR REPLACE INTO fs_data (ino, chunk_index, data) VALUES (?, ?, ?)`, ino, index, chunk); err != nil {
			return fmt.Errorf("write file: %w", err)
		}
	}
	if err := execute(f.conn, `UPDATE fs_inode SET size = max(size, ?2), mtime = ?3 WHERE ino = ?1`, ino, size, at.Unix()); err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	return nil
}

func (f *fileSystem) link(target, path string, at time.Time) error {
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
	folder, name, err := f.makeParents(path, at)
	if err != nil {
		return err
	}
	if err := execute(f.conn, `UPDATE fs_inode SET nlink = nlink + 1 WHERE ino = ?`, ino); err != nil {
		return fmt.Errorf("link file: %w", err)
	}
	return f.addEntry(folder, name, ino, path)
}

// A file with several names gets a new inode, so that its other names keep the old content.
func (f *fileSystem) create(path string, at time.Time) (int64, error) {
	ino, ok, err := f.lookup(path)
	if err != nil {
		return 0, err
	}
	if ok {
		if links, err := f.links(ino); err != nil || links <= 1 {
			return ino, err
		}
		if err := f.unlink(path); err != nil {
			return 0, err
		}
	}
	folder, name, err := f.makeParents(path, at)
	if err != nil {
		return 0, err
	}
	if ino, err = f.newInode(fileMode, at); err != nil {
		return 0, err
	}
	return ino, f.addEntry(folder, name, ino, path)
}

func (f *fileSystem) makeParents(path string, at time.Time) (int64, string, error) {
	names := strings.Split(strings.TrimPrefix(path, "/"), "/")
	ino := int64(rootInode)
	for _, name := range names[:len(names)-1] {
		next, err := number(f.conn, `SELECT ino FROM fs_dentry WHERE parent_ino = ? AND name = ?`, ino, name)
		if err != nil {
			return 0, "", err
		}
		if next == 0 {
			if next, err = f.newInode(folderMode, at); err != nil {
				return 0, "", err
			}
			if err := f.addEntry(ino, name, next, ""); err != nil {
				return 0, "", err
			}
		}
		ino = next
	}
	return ino, names[len(names)-1], nil
}

func (f *fileSystem) newInode(mode int64, at time.Time) (int64, error) {
	err := execute(f.conn, `INSERT INTO fs_inode (mode, nlink, atime, mtime, ctime) VALUES (?1, 1, ?2, ?2, ?2)`, mode, at.Unix())
	if err != nil {
		return 0, fmt.Errorf("make inode: %w", err)
	}
	return f.conn.LastInsertRowID(), nil
}

func (f *fileSystem) addEntry(folder int64, name string, ino int64, path string) error {
	if err := execute(f.conn, `INSERT INTO fs_dentry (name, parent_ino, ino) VALUES (?, ?, ?)`, name, folder, ino); err != nil {
		return fmt.Errorf("name file: %w", err)
	}
	if path == "" {
		return nil
	}
	if err := execute(f.conn, `INSERT OR IGNORE INTO hooktrail_files (path) VALUES (?)`, path); err != nil {
		return fmt.Errorf("remember file: %w", err)
	}
	return nil
}

func (f *fileSystem) lookup(path string) (int64, bool, error) {
	ino := int64(rootInode)
	for name := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		next, err := number(f.conn, `SELECT ino FROM fs_dentry WHERE parent_ino = ? AND name = ?`, ino, name)
		if err != nil || next == 0 {
			return 0, false, err
		}
		ino = next
	}
	return ino, true, nil
}

func (f *fileSystem) links(ino int64) (int64, error) {
	return number(f.conn, `SELECT nlink FROM fs_inode WHERE ino = ?`, ino)
}

func (f *fileSystem) matches(ino int64, b events.BlobRef) (bool, error) {
	hash, size := sha256.New(), int64(0)
	err := sqlitex.Execute(f.conn, `SELECT data FROM fs_data WHERE ino = ? ORDER BY chunk_index`, &sqlitex.ExecOptions{
		Args: []any{ino},
		ResultFunc: func(stmt *sqlite.Stmt) error {
			n, err := io.Copy(hash, stmt.ColumnReader(0))
			size += n
			return err
		},
	})
	if err != nil {
		return false, fmt.Errorf("check file: %w", err)
	}
	return size == b.Bytes && hex.EncodeToString(hash.Sum(nil)) == b.SHA256, nil
}
