package publish

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
//
// Under [Options.UniqueLast] the file is set aside when it holds that many, and
// what was set aside before is forgotten.
type idSet struct {
	dir     string
	last    int // 0 keeps all
	taken   map[idHash]struct{}
	aside   map[idHash]struct{}
	file    *os.File
	size    int64
	pending []byte // acknowledged and not yet written
}

// The files of an idSet.
const (
	idsName   = "ids"
	asideName = "ids.old"
)

func openIDs(dir string, last int) (*idSet, error) {
	s := &idSet{dir: dir, last: last, aside: map[idHash]struct{}{}}
	old, err := os.ReadFile(filepath.Join(dir, asideName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read ids: %w", err)
	}
	readIDs(s.aside, old)
	if s.file, err = os.OpenFile(filepath.Join(dir, idsName), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, fmt.Errorf("open ids: %w", err)
	}
	data, err := io.ReadAll(s.file)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read ids: %w", err), s.file.Close())
	}
	s.taken = make(map[idHash]struct{}, len(data)/len(idHash{}))
	s.size = readIDs(s.taken, data)
	return s, nil
}

// readIDs adds the ids in data to set, and returns how many bytes they are.
func readIDs(set map[idHash]struct{}, data []byte) (size int64) {
	for ; len(data) >= len(idHash{}); data = data[len(idHash{}):] {
		set[idHash(data)] = struct{}{}
		size += int64(len(idHash{}))
	}
	return size
}

func (s *idSet) has(id idHash) bool {
	_, isTaken := s.taken[id]
	_, isAside := s.aside[id]
	return isTaken || isAside
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
	if s.last > 0 && s.size/int64(len(idHash{})) >= int64(s.last) {
		return s.setAside()
	}
	return nil
}

// setAside begins a new file, and forgets what was set aside before.
func (s *idSet) setAside() error {
	if err := syncData(s.file); err != nil {
		return fmt.Errorf("sync ids: %w", err)
	}
	if err := os.Rename(filepath.Join(s.dir, idsName), filepath.Join(s.dir, asideName)); err != nil {
		return fmt.Errorf("set ids aside: %w", err)
	}
	// The old file stays the one in use until there is a new one: a full disk
	// loses none.
	f, err := os.OpenFile(filepath.Join(s.dir, idsName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return errors.Join(fmt.Errorf("open ids: %w", asNoRoom(err)), os.Rename(filepath.Join(s.dir, asideName), filepath.Join(s.dir, idsName)))
	}
	err = s.file.Close()
	s.file, s.size = f, 0
	s.aside, s.taken = s.taken, map[idHash]struct{}{}
	return err
}

// sync puts what was saved on disk.
func (s *idSet) sync() error { return syncData(s.file) }

func (s *idSet) close() error { return errors.Join(s.save(), s.sync(), s.file.Close()) }
