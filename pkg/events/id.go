package events

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"

	"github.com/google/uuid"
)

// NewID returns a new event id, a UUIDv7: ids sort by the time they were minted.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// DeriveID returns the event id that belongs to parts, a UUIDv8 over their
// SHA-256: the same parts give the same id, so that what is imported or
// published again is recognised. Parts are length-prefixed; ("a", "bc") and
// ("ab", "c") differ.
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

// ChunkID returns the id of the blob.chunk event with part index, from 0, of the
// content with that SHA-256, in hex, which travels before the event with that id.
func ChunkID(tenant, event, sha256 string, index int) string {
	return DeriveID("blob", tenant, event, sha256, strconv.Itoa(index))
}
