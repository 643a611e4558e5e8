package ledger

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// ErrNoPayload means that the payload of a record is missing in the ledger.
var ErrNoPayload = errors.New("it is missing")

// Chunk is the content of a blob.chunk event.
type Chunk struct {
	Whole   events.Hash
	Part    int64
	Content []byte
	Cut     int // offset of the content in the event's bytes
}

const contentField = `"content":"`

// CutChunk finds the base64 content in data, the JSON of the blob.chunk event e. It returns false
// if the content has an unusual form, from which [InsertContent] could not restore data.
func CutChunk(e events.Event, data []byte) (Chunk, bool) {
	d, err := events.Payload[events.BlobChunkData](e)
	if err != nil || d.Index < 0 {
		return Chunk{}, false
	}
	whole, err := events.ParseHash(d.SHA256)
	if err != nil {
		return Chunk{}, false
	}
	field := make([]byte, 0, len(contentField)+base64.StdEncoding.EncodedLen(len(d.Content))+1)
	field = append(base64.StdEncoding.AppendEncode(append(field, contentField...), d.Content), '"')
	at := bytes.Index(data, field)
	if at < 0 || len(d.Content) == 0 {
		return Chunk{}, false
	}
	return Chunk{Whole: whole, Part: int64(d.Index), Content: d.Content, Cut: at + len(contentField)}, true
}

const payloadColumns = `p.bytes, p.cut, b.content FROM payloads p LEFT JOIN blobs b ON b.blob = p.blob`

// ReadPayload returns the bytes of the record at leaf. If the payload is missing, the error is
// [ErrNoPayload].
func ReadPayload(conn *sqlite.Conn, leaf int64) (data []byte, err error) {
	found := false
	err = sqlitex.Execute(conn, "SELECT "+payloadColumns+" WHERE p.leaf = ?", &sqlitex.ExecOptions{
		Args:       []any{leaf},
		ResultFunc: func(stmt *sqlite.Stmt) error { found = true; data, err = joinPayload(stmt, 0); return err },
	})
	if err == nil && !found {
		err = ErrNoPayload
	}
	return data, err
}

func joinPayload(stmt *sqlite.Stmt, column int) ([]byte, error) {
	data := sqlitetx.Bytes(stmt, column)
	if stmt.ColumnIsNull(column + 1) {
		return data, nil
	}
	cut := stmt.ColumnInt64(column + 1)
	if cut < 0 || cut > int64(len(data)) || stmt.ColumnIsNull(column+2) {
		return nil, fmt.Errorf("content of a chunk: %w", ErrNoPayload)
	}
	return InsertContent(data, int(cut), sqlitetx.Bytes(stmt, column+2)), nil
}

// InsertContent restores the JSON of a blob.chunk event. It inserts content as base64 at the
// offset cut of data.
func InsertContent(data []byte, cut int, content []byte) []byte {
	whole := make([]byte, 0, len(data)+base64.StdEncoding.EncodedLen(len(content)))
	whole = append(whole, data[:cut]...)
	whole = base64.StdEncoding.AppendEncode(whole, content)
	return append(whole, data[cut:]...)
}
