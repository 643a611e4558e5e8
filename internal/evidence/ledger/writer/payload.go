package writer

import (
	"bytes"
	"encoding/base64"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// storePayload stores the bytes of a record.
func (w *writing) storePayload(leaf int64, data []byte, r record) error {
	stmt := w.conn.Prep("INSERT INTO payloads (leaf, bytes, blob, cut) VALUES (?, ?, ?, ?)")
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
	blob, err := w.storeBlob(c.Content)
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
	index := w.conn.Prep("INSERT INTO chunks (whole, part, leaf) VALUES (?, ?, ?)")
	index.BindBytes(1, c.Whole[:])
	index.BindInt64(2, c.Part)
	index.BindInt64(3, leaf)
	return sqlitetx.Run(index)
}

// storeBlob stores content, unless it is there, and returns its number.
func (w *writing) storeBlob(content []byte) (int64, error) {
	hash := events.HashOf(content)
	n, err := sqlitetx.Int(w.conn, "SELECT blob FROM blobs WHERE hash = ?", hash[:])
	if err != nil || n > 0 {
		return n, err
	}
	if n, err = sqlitetx.Int(w.conn, "SELECT coalesce(max(blob), 0) + 1 FROM blobs"); err != nil {
		return 0, err
	}
	insert := w.conn.Prep("INSERT INTO blobs (blob, hash, content) VALUES (?, ?, ?)")
	insert.BindInt64(1, n)
	insert.BindBytes(2, hash[:])
	insert.BindBytes(3, content)
	return n, sqlitetx.Run(insert)
}
