package agentfs

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// maxInline is the maximum size in bytes of a payload that is stored in a row. Rows must be small,
// because AgentFS clients load all of them.
const maxInline = 64 << 10

type reference struct {
	File    string `json:"$file,omitempty"`
	SHA256  string `json:"sha256"`
	Bytes   int64  `json:"bytes"`
	Missing bool   `json:"missing,omitempty"` // the content never arrived
}

// Ids in paths are escaped, so that they cannot lead into another folder or collide with file
// names.
func runPath(run string) string        { return "/runs/" + pathPart(run) }
func stepPath(run, step string) string { return runPath(run) + "/" + pathPart(step) }
func blobPath(run, sum string) string  { return runPath(run) + "/=blobs/" + pathPart(sum) }

func toolPath(e events.Event) string {
	return runPath(e.Run) + "/tools/" + pathPart(cmp.Or(e.ToolCall, e.ID))
}

func pathPart(id string) string {
	name, err := subjects.FileName(id)
	if err != nil {
		sum := sha256.Sum256([]byte(id))
		return "==" + hex.EncodeToString(sum[:])
	}
	return name
}

type payloads struct{ files *fileSystem }

func facts(e events.Event, runType, role string) map[string]any {
	return map[string]any{
		"run_id": e.Run, "tenant_id": e.Tenant,
		"run_type":   strings.ToUpper(cmp.Or(runType, e.RunType)),
		"agent_role": strings.ToUpper(cmp.Or(role, e.AgentRole)),
	}
}

func (p *payloads) context(e events.Event, path string) (map[string]any, error) {
	data, err := membersOf(e.Data)
	if err != nil {
		return nil, err
	}
	var blobs map[string]events.BlobRef
	if b, ok := data["blobs"]; ok {
		if err := json.Unmarshal(b, &blobs); err != nil {
			return nil, fmt.Errorf("read blobs: %w", err)
		}
		if delete(data, "blobs"); len(blobs) > maxMembers {
			data["payload"], blobs = e.Data, nil
		}
	}
	context := make(map[string]any, len(data)+12)
	for name, value := range data {
		context[name] = value
	}
	for name := range blobs {
		value, err := p.field(e, blobs, name, nil, path+"/"+pathPart(name)+".blob.json")
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
	context["agent_role"] = strings.ToUpper(cmp.Or(unquoted(data["agent_role"]), e.AgentRole))
	context["run_type"] = strings.ToUpper(cmp.Or(unquoted(data["run_type"]), e.RunType))
	context["timestamp"] = e.Time
	return context, nil
}

const maxMembers = 1000

var errNoObject = errors.New("read payload: not a JSON object")

func membersOf(payload json.RawMessage) (map[string]json.RawMessage, error) {
	if len(payload) > 0 && payload[0] != '{' && string(payload) != "null" {
		return nil, errNoObject
	}
	data := make(map[string]json.RawMessage)
	for name, value := range events.Members(payload) {
		if _, known := data[name]; known || len(data) < maxMembers || slices.Contains([]string{"blobs", "agent_role", "run_type"}, name) {
			data[name] = value
		} else {
			data["payload"] = payload
		}
	}
	return data, nil
}

func (p *payloads) field(e events.Event, blobs map[string]events.BlobRef, name string, value any, path string) (any, error) {
	if blob, ok := blobs[name]; ok {
		return p.blob(blobPath(e.Run, blob.SHA256), blob, path, e.Time)
	}
	if value == nil {
		return nil, nil
	}
	content := object(value)
	if len(content) <= maxInline {
		return json.RawMessage(content), nil
	}
	return p.store(content, path, e.Time)
}

func (p *payloads) bounded(value []byte, path string, at time.Time) ([]byte, error) {
	if len(value) <= maxInline {
		return value, nil
	}
	ref, err := p.store(value, path, at)
	return object(ref), err
}

func (p *payloads) errorText(message, path string, at time.Time) (string, error) {
	if len(message) <= maxInline {
		return message, nil
	}
	path += "/error.txt"
	if err := p.files.write(path, []byte(message), at); err != nil {
		return "", err
	}
	return message[:1024] + " … " + path, nil
}

func (p *payloads) store(content []byte, path string, at time.Time) (reference, error) {
	sum := sha256.Sum256(content)
	return reference{File: path, SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(content))}, p.files.write(path, content, at)
}

func (p *payloads) blob(chunksPath string, b events.BlobRef, path string, at time.Time) (reference, error) {
	ref := reference{SHA256: b.SHA256, Bytes: b.Bytes}
	ino, ok, err := p.files.lookup(chunksPath)
	if err != nil {
		return ref, err
	}
	if ok {
		if ok, err = p.files.matches(ino, b); err != nil {
			return ref, err
		}
	}
	if !ok {
		ref.Missing = true
		return ref, nil
	}
	ref.File = path
	return ref, p.files.link(chunksPath, path, at)
}

func (p *payloads) addChunk(e events.Event, chunk events.BlobChunkData) error {
	if chunk.Index < 0 || int64(chunk.Index) > chunk.Bytes/events.BlobChunkBytes {
		return nil
	}
	offset := int64(chunk.Index) * events.BlobChunkBytes
	if offset+int64(len(chunk.Content)) > chunk.Bytes || len(chunk.Content) > events.BlobChunkBytes {
		return nil
	}
	path := blobPath(e.Run, chunk.SHA256)
	ino, ok, err := p.files.lookup(path)
	if err == nil && !ok {
		ino, err = p.files.create(path, e.Time)
	}
	if err != nil {
		return err
	}
	// A file with a second name has already been checked against its hash, so do not overwrite it.
	if links, err := p.files.links(ino); err != nil || links > 1 {
		return err
	}
	return p.files.writeAt(ino, offset, chunk.Content, e.Time)
}
