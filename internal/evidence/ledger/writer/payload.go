package writer

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type payloads struct{ conn *sqlite.Conn }

func (p payloads) store(leaf int64, data []byte, r record) error {
	stmt := p.conn.Prep("INSERT INTO payloads (leaf, bytes, blob, cut) VALUES (?, ?, ?, ?)")
	stmt.BindInt64(1, leaf)
	stmt.BindNull(3)
	stmt.BindNull(4)
	if r.leaf.Class != ledger.ClassEvent || r.leaf.Kind != events.BlobChunk {
		stmt.BindBytes(2, data)
		return sqlitetx.Run(stmt)
	}
	c, ok := ledger.CutChunk(r.event, data)
	if !ok {
		stmt.BindBytes(2, data)
		return sqlitetx.Run(stmt)
	}
	blob, err := p.storeBlob(c.Content)
	if err != nil {
		return err
	}
	end := c.Cut + base64.StdEncoding.EncodedLen(len(c.Content))
	stmt.BindBytes(2, append(bytes.Clone(data[:c.Cut]), data[end:]...))
	stmt.BindInt64(3, blob)
	stmt.BindInt64(4, int64(c.Cut))
	if err := sqlitetx.Run(stmt); err != nil {
		return err
	}
	return execute(p.conn, "INSERT INTO chunks (whole, part, leaf) VALUES (?, ?, ?)", c.Whole[:], c.Part, leaf)
}

func (p payloads) storeBlob(content []byte) (int64, error) {
	hash := events.HashOf(content)
	n, err := sqlitetx.Int(p.conn, "SELECT blob FROM blobs WHERE hash = ?", hash[:])
	if err != nil || n > 0 {
		return n, err
	}
	if n, err = sqlitetx.Int(p.conn, "SELECT coalesce(max(blob), 0) + 1 FROM blobs"); err != nil {
		return 0, err
	}
	return n, execute(p.conn, "INSERT INTO blobs (blob, hash, content) VALUES (?, ?, ?)", n, hash[:], content)
}

func (p payloads) remove(leaf int64, blobs map[int64]bool) error {
	blob, err := sqlitetx.Int(p.conn, "SELECT blob FROM payloads WHERE leaf = ?", leaf)
	if err != nil {
		return err
	}
	if blob > 0 {
		data, err := ledger.ReadPayload(p.conn, leaf)
		if err != nil {
			return err
		}
		e, err := events.Decode(data)
		c, ok := ledger.CutChunk(e, data)
		if err != nil || !ok {
			return fmt.Errorf("%w: leaf %d is not a blob chunk", ledger.ErrDamaged, leaf)
		}
		blobs[blob] = true
		if err := execute(p.conn, "DELETE FROM chunks WHERE whole = ? AND part = ? AND leaf = ?", c.Whole[:], c.Part, leaf); err != nil {
			return err
		}
	}
	return execute(p.conn, "DELETE FROM payloads WHERE leaf = ?", leaf)
}

func (p payloads) removeBlobs(blobs map[int64]bool) error {
	if len(blobs) == 0 {
		return nil
	}
	err := sqlitex.Execute(p.conn, "SELECT p.blob FROM chunks c JOIN payloads p ON p.leaf = c.leaf",
		&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
			delete(blobs, stmt.ColumnInt64(0))
			return nil
		}})
	for blob := range blobs {
		err = errors.Join(err, execute(p.conn, "DELETE FROM blobs WHERE blob = ?", blob))
	}
	return err
}

func execute(conn *sqlite.Conn, query string, args ...any) error {
	return sqlitex.Execute(conn, query, &sqlitex.ExecOptions{Args: args})
}
