package events

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"

	"github.com/google/uuid"
)

// NewID returns a new event id, which is a UUIDv7. Ids sort by creation time.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// DeriveID returns a UUIDv8 of parts, so that a repeated import has the same ids.
func DeriveID(parts ...string) string {
	h := sha256.New()
	var length [8]byte
	for _, p := range parts {
		binary.BigEndian.PutUint64(length[:], uint64(len(p)))
		h.Write(length[:])
		h.Write([]byte(p))
	}
	var id uuid.UUID
	copy(id[:], h.Sum(nil))
	id[6] = id[6]&0x0f | 0x80
	id[8] = id[8]&0x3f | 0x80
	return id.String()
}

// ChunkID returns the id of a blob.chunk event. sha256 is the hash of the whole content in hex.
func ChunkID(tenant, event, sha256 string, index int) string {
	return DeriveID("blob", tenant, event, sha256, strconv.Itoa(index))
}
