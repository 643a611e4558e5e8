package state

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/disk"
)

// Losses stores which sequence numbers are lost. Its file is allocated in advance, so that a loss
// can be stored even if the disk is full.
type Losses struct {
	file  *os.File
	slots []Gap // a slot with First 0 is free
}

// LossesName is the name of the file.
const LossesName = "losses"

const (
	lossSlots = 128
	lossSlot  = 512 // range, length and bytes of the tenant, zeros, CRC
)

var errNoSlot = errors.New("too many tenants lose events at a time")

// OpenLosses opens or creates the file in dir.
func OpenLosses(dir string) (*Losses, error) {
	f, err := disk.Preallocate(filepath.Join(dir, LossesName), lossSlots*lossSlot)
	if err != nil {
		return nil, fmt.Errorf("open losses: %w", err)
	}
	l := &Losses{file: f, slots: make([]Gap, lossSlots)}
	if _, err := l.Reread(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return l, nil
}

// ReadLosses returns the losses in dir, or none if the file cannot be read.
func ReadLosses(dir string) (list []Gap) {
	data, err := os.ReadFile(filepath.Join(dir, LossesName))
	if err != nil || len(data) != lossSlots*lossSlot {
		return nil
	}
	for slot := range slices.Chunk(data, lossSlot) {
		if g := parseLoss(slot); g.First > 0 {
			list = append(list, g)
		}
	}
	return list
}

// Reread reads the file again. It returns the losses that other processes have added since the
// last read.
func (l *Losses) Reread() (lost []Gap, err error) {
	buf := make([]byte, lossSlots*lossSlot)
	if _, err := l.file.ReadAt(buf, 0); err != nil {
		return nil, fmt.Errorf("read losses: %w", err)
	}
	for i, old := range l.slots {
		g := parseLoss(buf[i*lossSlot : (i+1)*lossSlot])
		l.slots[i] = g
		switch {
		case g.First == 0 || g == old:
			continue
		case g.Tenant == old.Tenant && g.First == old.First:
			g.First = old.Last + 1
		}
		lost = append(lost, g)
	}
	return lost, nil
}

func parseLoss(b []byte) Gap {
	le := binary.LittleEndian
	n := int(le.Uint16(b[16:]))
	if le.Uint64(b) == 0 {
		return Gap{} // free
	}
	if disk.Checksum(b[:lossSlot-4]) != le.Uint32(b[lossSlot-4:]) || 18+n > lossSlot-4 {
		return Gap{} // never written, or torn
	}
	return Gap{string(b[18 : 18+n]), events.Range{First: le.Uint64(b), Last: le.Uint64(b[8:]), Reason: ReasonShed}}
}

func (l *Losses) put(i int, g Gap) error {
	var b [lossSlot]byte
	le := binary.LittleEndian
	le.PutUint64(b[0:], g.First)
	le.PutUint64(b[8:], g.Last)
	le.PutUint16(b[16:], uint16(len(g.Tenant)))
	copy(b[18:lossSlot-4], g.Tenant)
	le.PutUint32(b[lossSlot-4:], disk.Checksum(b[:lossSlot-4]))
	if _, err := l.file.WriteAt(b[:], int64(i)*lossSlot); err != nil {
		return fmt.Errorf("count loss: %w", err)
	}
	l.slots[i] = g
	return nil
}

// Add stores that the events with the numbers in g are lost.
func (l *Losses) Add(g Gap) error {
	free := -1
	for i, old := range l.slots {
		if old.First > 0 && old.Tenant == g.Tenant && old.Last+1 == g.First {
			old.Last = g.Last
			return l.put(i, old)
		}
		if old.First == 0 && free < 0 {
			free = i
		}
	}
	if free < 0 {
		return errNoSlot
	}
	return l.put(free, g)
}

// Take calls do for each stored loss, and removes the loss if do returns true. Take stops at the
// first error.
func (l *Losses) Take(do func(Gap) (done bool, err error)) error {
	for i, g := range l.slots {
		if g.First == 0 {
			continue
		}
		done, err := do(g)
		if err == nil && done {
			err = l.put(i, Gap{})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// List returns the losses.
func (l *Losses) List() []Gap {
	return slices.DeleteFunc(slices.Clone(l.slots), isFree)
}

func isFree(g Gap) bool { return g.First == 0 }

// IsEmpty reports whether there are no losses.
func (l *Losses) IsEmpty() bool {
	return !slices.ContainsFunc(l.slots, func(g Gap) bool { return !isFree(g) })
}

// Sync syncs the file to disk.
func (l *Losses) Sync() error { return disk.Sync(l.file) }

// Close closes the file.
func (l *Losses) Close() error { return l.file.Close() }
