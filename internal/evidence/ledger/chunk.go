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

// ErrNoPayload means that the ledger does not have the bytes of a record.
var ErrNoPayload = errors.New("it is missing")

// Chunk is a part of a large object, such as a file, which a producer sends as several blob.chunk
// events.
type Chunk struct {
	Whole   events.Hash
	Part    int64
	Content []byte
	Cut     int // offset of the content in the event's bytes
}

const contentField = `"content":"`

// CutChunk decodes the content of the blob.chunk event e. data is the JSON of the event. CutChunk
// returns false if [InsertContent] could not restore this JSON byte for byte.
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

// ReadPayload returns the bytes of the record with the given leaf number. If the ledger does not
// have them, the error is [ErrNoPayload].
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

// InsertContent restores the JSON of a blob.chunk event after [CutChunk]. It inserts content as
// base64 at offset cut of data.
func InsertContent(data []byte, cut int, content []byte) []byte {
	whole := make([]byte, 0, len(data)+base64.StdEncoding.EncodedLen(len(content)))
	whole = append(whole, data[:cut]...)
	whole = base64.StdEncoding.AppendEncode(whole, content)
	return append(whole, data[cut:]...)
}
