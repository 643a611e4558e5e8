// Package blob moves payloads that are too large for one message into separate events.
package blob

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/hooktrail/hooktrail/pkg/events"
)

type member struct {
	name  string
	value json.RawMessage
}

const (
	blobsField = "blobs"
	maxBlobs   = 16
)

// Externalise moves the largest fields of *e to blob.chunk events, until *e fits. It returns these
// events and then *e.
func Externalise(e *events.Event) ([]*events.Event, error) {
	if !tooLarge(e) {
		return []*events.Event{e}, nil
	}
	members, err := dataMembers(e)
	if err != nil {
		return nil, err
	}
	var batch []*events.Event
	refs := map[string]events.BlobRef{}
	members, err = takeBlobs(members, refs)
	if err != nil {
		return nil, err
	}
	whole := e.Data
	for moved := 0; tooLarge(e); moved++ {
		if moved == maxBlobs {
			// Move all data into one blob. Otherwise, thousands of small fields would become
			// thousands of events.
			batch, refs, members = nil, map[string]events.BlobRef{}, []member{{value: whole}}
		}
		i := largest(members)
		if i < 0 {
			return nil, errors.New("too large for the wire even without its data")
		}
		content := []byte(members[i].value)
		if members[i].name == "" && e.Binary != nil {
			content = e.Binary
		}
		chunks, ref, err := newChunks(*e, content)
		if err != nil {
			return nil, err
		}
		batch = append(batch, chunks...)
		refs[members[i].name] = ref
		members = append(members[:i:i], members[i+1:]...)
		if err := setMembers(e, members, refs); err != nil {
			return nil, err
		}
	}
	return append(batch, e), nil
}

func tooLarge(e *events.Event) bool {
	payload := len(e.Data) + base64.StdEncoding.EncodedLen(len(e.Binary))
	if payload+2*events.MaxAttributeBytes < events.MaxBytes {
		return false
	}
	if payload > events.MaxBytes {
		return true
	}
	numbered := *e
	numbered.Sequence = math.MaxUint64
	return len(numbered.Encode()) > events.MaxBytes
}

func dataMembers(e *events.Event) ([]member, error) {
	if e.Binary != nil || len(e.Data) == 0 || e.Data[0] != '{' {
		return []member{{value: e.Data}}, nil
	}
	dec := json.NewDecoder(bytes.NewReader(e.Data))
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("split data: %w", err)
	}
	var members []member
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("split data: %w", err)
		}
		var m member
		m.name, _ = token.(string)
		if err := dec.Decode(&m.value); err != nil {
			return nil, fmt.Errorf("split data: %w", err)
		}
		members = append(members, m)
	}
	return members, nil
}

func takeBlobs(members []member, refs map[string]events.BlobRef) ([]member, error) {
	for i, m := range members {
		if m.name == blobsField {
			if err := json.Unmarshal(m.value, &refs); err != nil {
				return nil, fmt.Errorf("split data: blobs: %w", err)
			}
			return append(members[:i:i], members[i+1:]...), nil
		}
	}
	return members, nil
}

func largest(members []member) int {
	best := -1
	for i, m := range members {
		if best < 0 || len(m.value) > len(members[best].value) {
			best = i
		}
	}
	return best
}

func setMembers(e *events.Event, members []member, refs map[string]events.BlobRef) error {
	text, err := json.Marshal(refs)
	if err != nil {
		return fmt.Errorf("encode blobs: %w", err)
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for _, m := range members {
		name, err := json.Marshal(m.name)
		if err != nil {
			return fmt.Errorf("encode data: %w", err)
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(m.value)
		b.WriteByte(',')
	}
	fmt.Fprintf(&b, "%q:%s}", blobsField, text)
	e.Data, e.Binary = b.Bytes(), nil
	return nil
}

func newChunks(e events.Event, content []byte) ([]*events.Event, events.BlobRef, error) {
	sum := sha256.Sum256(content)
	ref := events.BlobRef{SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(content))}
	n := (len(content) + events.BlobChunkBytes - 1) / events.BlobChunkBytes
	var chunks []*events.Event
	for i := range n {
		c := e
		c.ID = events.ChunkID(e.Tenant, e.ID, ref.SHA256, i)
		c.Type, c.DataContentType, c.Salt = events.BlobChunk.Type(), "", events.NewSalt()
		part := content[i*events.BlobChunkBytes : min((i+1)*events.BlobChunkBytes, len(content))]
		err := c.SetData(events.BlobChunkData{
			SHA256: ref.SHA256, Bytes: ref.Bytes, Index: i, Chunks: n, Content: part,
		})
		if err != nil {
			return nil, ref, err
		}
		chunks = append(chunks, &c)
	}
	return chunks, ref, nil
}
