package agentfs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// maxInline is the size of the largest payload that lies in its row.
const maxInline = 64 << 10

// reference names a payload that lies in the file system tables.
type reference struct {
	File    string `json:"$file,omitempty"`
	SHA256  string `json:"sha256"`
	Bytes   int64  `json:"bytes"`
	Missing bool   `json:"missing,omitempty"` // its content never came
}

// rowKinds are the first parts of the keys of rows.
var rowKinds = []string{"start", "end", "step", "tool"} //nolint:gochecknoglobals // a constant

// rowKey says which row of a run is meant.
func rowKey(what, run, id string) string {
	return what + ":" + keyPart(run) + ":" + keyPart(id)
}

// The paths of a run in the file system tables, all of them below its folder.
// Ids are escaped as in subjects, so that none reaches into another's folder; no
// escaped id has a dot, and every file of ours but a blob has one.
func runPath(run string) string        { return "/runs/" + pathPart(run) }
func stepPath(run, step string) string { return runPath(run) + "/" + pathPart(step) }
func blobPath(run, sum string) string  { return runPath(run) + "/=blobs/" + pathPart(sum) }

func toolPath(e events.Event) string {
	return runPath(e.Run) + "/tools/" + pathPart(firstOf(e.ToolCall, e.ID))
}

// pathPart returns id as the name of one file or folder. Ids of events that
// went over the broker are always short enough; of others the hash is kept.
func pathPart(id string) string {
	name, err := subjects.FileName(id)
	if err != nil {
		sum := sha256.Sum256([]byte(id))
		return "==" + hex.EncodeToString(sum[:])
	}
	return name
}

// facts are the parameters that every row of a run has.
func facts(e events.Event, runType, role string) map[string]any {
	return map[string]any{
		"run_id": e.Run, "tenant_id": e.Tenant,
		"run_type":   strings.ToUpper(firstOf(runType, e.RunType)),
		"agent_role": strings.ToUpper(firstOf(role, e.AgentRole)),
	}
}

// context is all that e tells, its payload's fields and its attributes, with
// what is too large by reference.
func (f *file) context(e events.Event, path string) (map[string]any, error) {
	var data map[string]json.RawMessage
	if err := json.Unmarshal(e.Data, &data); err != nil && len(e.Data) > 0 {
		return nil, fmt.Errorf("read payload: %w", err)
	}
	var blobs map[string]events.BlobRef
	if b, ok := data["blobs"]; ok {
		if err := json.Unmarshal(b, &blobs); err != nil {
			return nil, fmt.Errorf("read blobs: %w", err)
		}
		delete(data, "blobs")
	}
	context := make(map[string]any, len(data)+12)
	for name, value := range data {
		context[name] = value
	}
	for name := range blobs {
		value, err := f.field(e, blobs, name, nil, path+"/"+pathPart(name)+".blob.json")
		if err != nil {
			return nil, err
		}
		context[name] = value
	}
	for name, value := range map[string]string{
		"run_id": e.Run, "tenant_id": e.Tenant, "step_id": e.Step, "session_id": e.Session, "agent": e.Agent,
		"parent_agent": e.ParentAgent, "parent_run": e.ParentRun, "user_id": e.User, "source": e.Source,
	} {
		if value != "" {
			context[name] = value
		}
	}
	context["agent_role"] = strings.ToUpper(firstOf(unquoted(data["agent_role"]), e.AgentRole))
	context["run_type"] = strings.ToUpper(firstOf(unquoted(data["run_type"]), e.RunType))
	context["timestamp"] = e.Time
	return context, nil
}

// field returns a payload's field for a row: value itself, or the reference to
// its content where that is large or travelled apart.
func (f *file) field(e events.Event, blobs map[string]events.BlobRef, name string, value any, path string) (any, error) {
	if blob, ok := blobs[name]; ok {
		return f.blob(blobPath(e.Run, blob.SHA256), blob, path, e.Time)
	}
	if value == nil {
		return nil, nil
	}
	content := object(value)
	if len(content) <= maxInline {
		return json.RawMessage(content), nil
	}
	return f.store(content, path, e.Time)
}

// bounded returns value, or the reference to it where it is large.
func (f *file) bounded(value []byte, path string, at time.Time) ([]byte, error) {
	if len(value) <= maxInline {
		return value, nil
	}
	ref, err := f.store(value, path, at)
	return object(ref), err
}

// failure returns the text of an error, cut where it is large: the whole lies
// in the file that it ends with.
func (f *file) failure(message, path string, at time.Time) (string, error) {
	if len(message) <= maxInline {
		return message, nil
	}
	path += "/error.txt"
	if err := f.write(path, []byte(message), at); err != nil {
		return "", err
	}
	return message[:1024] + " … " + path, nil
}

func (f *file) store(content []byte, path string, at time.Time) (reference, error) {
	sum := sha256.Sum256(content)
	return reference{File: path, SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(content))}, f.write(path, content, at)
}

// blob returns the reference to content that travelled as chunks, and gives it
// the name path, if it is what its hash says.
func (f *file) blob(from string, b events.BlobRef, path string, at time.Time) (reference, error) {
	ref := reference{SHA256: b.SHA256, Bytes: b.Bytes}
	ino, ok, err := f.lookup(from)
	if err != nil {
		return ref, err
	}
	if ok {
		if ok, err = f.isContent(ino, b); err != nil {
			return ref, err
		}
	}
	if !ok {
		ref.Missing = true
		return ref, nil
	}
	ref.File = path
	return ref, f.link(from, path, at)
}

// isContent reports whether a file holds what b names, and nothing else.
func (f *file) isContent(ino int64, b events.BlobRef) (bool, error) {
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

// blobChunk writes one piece of a large payload. Its event follows, and names
// the whole.
func (f *file) blobChunk(e events.Event, p events.BlobChunkData) error {
	if p.Index < 0 || int64(p.Index) > p.Bytes/events.BlobChunkBytes {
		return nil
	}
	offset := int64(p.Index) * events.BlobChunkBytes
	if offset+int64(len(p.Content)) > p.Bytes || len(p.Content) > events.BlobChunkBytes {
		return nil
	}
	path := blobPath(e.Run, p.SHA256)
	ino, ok, err := f.lookup(path)
	if err == nil && !ok {
		ino, err = f.create(path, e.Time)
	}
	if err != nil {
		return err
	}
	// What has a second name was found to be what its hash says: a chunk that
	// comes again can only spoil it.
	if links, err := f.number(`SELECT nlink FROM fs_inode WHERE ino = ?`, ino); err != nil || links > 1 {
		return err
	}
	return f.writeAt(ino, offset, p.Content, e.Time)
}

// failureText says what went wrong: the failure's own message, else what else
// there is.
func failureText(failure *events.Failure, others ...string) string {
	if failure != nil {
		others = append([]string{failure.Message, failure.Class}, others...)
	}
	return firstOf(others...)
}

// resultText returns a failed tool's result as text: some tools put the error
// there.
func resultText(result json.RawMessage) string {
	if len(result) == 0 || bytes.Equal(result, []byte("null")) {
		return ""
	}
	return firstOf(unquoted(result), string(result))
}

// unquoted returns the string that value is, "" if it is none.
func unquoted(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) != nil {
		return ""
	}
	return s
}

// raw returns JSON that may be absent as a value to encode.
func raw(value json.RawMessage) any {
	if len(value) == 0 {
		return nil
	}
	return value
}

// object encodes value. It cannot fail: everything comes from decoded JSON.
func object(value any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return []byte("null")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// firstOf returns the first that is not empty.
func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
