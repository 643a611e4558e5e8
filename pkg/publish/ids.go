package publish

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// idHash stands for the id of a tenant's event.
type idHash [16]byte

// hashEvent returns the hash of what CloudEvents tells events apart by: source
// and id. Those of two tenants differ.
func hashEvent(e *events.Event) idHash { return hashParts(e.Tenant, e.Source, e.ID) }

func hashParts(parts ...string) idHash {
	var space [512]byte
	b := space[:0]
	for _, part := range parts {
		b = append(binary.AppendUvarint(b, uint64(len(part))), part...)
	}
	sum := sha256.Sum256(b)
	return idHash(sum[:])
}

// idSet is what an outbox has taken, for [Options.Unique]. On disk it is a file
// of hashes of acknowledged events; those of waiting events are found in the
// segments. So an event that a power cut took back is taken again, and one that
// the stream has never is. It needs some 40 bytes of memory per id.
type idSet struct {
	taken   map[idHash]struct{}
	file    *os.File
	size    int64
	pending []byte // acknowledged and not yet written
}

const idsName = "ids"

func openIDs(dir string) (*idSet, error) {
	f, err := os.OpenFile(filepath.Join(dir, idsName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open ids: %w", err)
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read ids: %w", err), f.Close())
	}
	s := &idSet{taken: make(map[idHash]struct{}, len(data)/len(idHash{})), file: f}
	for len(data) >= len(idHash{}) {
		s.taken[idHash(data)] = struct{}{}
		data = data[len(idHash{}):]
		s.size += int64(len(idHash{}))
	}
	return s, nil
}

func (s *idSet) has(id idHash) bool {
	_, ok := s.taken[id]
	return ok
}

func (s *idSet) add(id idHash) { s.taken[id] = struct{}{} }

// acknowledged notes that the event of id is in the stream.
func (s *idSet) acknowledged(id idHash) { s.pending = append(s.pending, id[:]...) }

// save writes what was acknowledged. What a failed write left is written over.
func (s *idSet) save() error {
	if len(s.pending) == 0 {
		return nil
	}
	if _, err := s.file.WriteAt(s.pending, s.size); err != nil {
		return fmt.Errorf("write ids: %w", asNoRoom(err))
	}
	s.size += int64(len(s.pending))
	s.pending = s.pending[:0]
	return nil
}

// sync puts what was saved on disk.
func (s *idSet) sync() error { return syncData(s.file) }

func (s *idSet) close() error { return errors.Join(s.save(), s.sync(), s.file.Close()) }
