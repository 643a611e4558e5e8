package publish

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// lossFile counts, on a disk that may be full, events that were numbered and
// lost. It has its blocks from the start: a slot per tenant, each written in
// place.
type lossFile struct {
	file  *os.File
	slots []gap // a zero First is a free slot
}

const (
	lossesName = "losses"

	lossSlots = 128
	lossSlot  = 512 // first, last, the tenant behind its length, zeros, CRC
)

var errNoSlot = errors.New("too many tenants lose events at a time")

func openLosses(dir string) (*lossFile, error) {
	f, err := preallocate(filepath.Join(dir, lossesName), lossSlots*lossSlot)
	if err != nil {
		return nil, fmt.Errorf("open losses: %w", err)
	}
	l := &lossFile{file: f, slots: make([]gap, lossSlots)}
	if _, err := l.reread(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return l, nil
}

// reread reads the file again, and returns what was lost meanwhile.
func (l *lossFile) reread() (lost []gap, err error) {
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
		case g.tenant == old.tenant && g.First == old.First:
			g.First = old.Last + 1
		}
		lost = append(lost, g)
	}
	return lost, nil
}

func parseLoss(b []byte) gap {
	le := binary.LittleEndian
	n := int(le.Uint16(b[16:]))
	if checksum(b[:lossSlot-4]) != le.Uint32(b[lossSlot-4:]) || 18+n > lossSlot-4 {
		return gap{} // never written
	}
	return gap{string(b[18 : 18+n]), events.Range{First: le.Uint64(b), Last: le.Uint64(b[8:]), Reason: reasonShed}}
}

// put writes g to slot i.
func (l *lossFile) put(i int, g gap) error {
	var b [lossSlot]byte
	le := binary.LittleEndian
	le.PutUint64(b[0:], g.First)
	le.PutUint64(b[8:], g.Last)
	le.PutUint16(b[16:], uint16(len(g.tenant)))
	copy(b[18:lossSlot-4], g.tenant)
	le.PutUint32(b[lossSlot-4:], checksum(b[:lossSlot-4]))
	if _, err := l.file.WriteAt(b[:], int64(i)*lossSlot); err != nil {
		return fmt.Errorf("count loss: %w", err)
	}
	l.slots[i] = g
	return nil
}

// add counts the numbers from first to last of a tenant as lost.
func (l *lossFile) add(tenant string, first, last uint64) error {
	free := -1
	for i, g := range l.slots {
		if g.First > 0 && g.tenant == tenant && g.Last+1 == first {
			g.Last = last
			return l.put(i, g)
		}
		if g.First == 0 && free < 0 {
			free = i
		}
	}
	if free < 0 {
		return errNoSlot
	}
	return l.put(free, gap{tenant, events.Range{First: first, Last: last, Reason: reasonShed}})
}

func (l *lossFile) empty() bool {
	for _, g := range l.slots {
		if g.First > 0 {
			return false
		}
	}
	return true
}

func (l *lossFile) close() error { return l.file.Close() }

// lose gives batch its numbers and counts it as lost. o.mu is held.
func (o *outbox) lose(batch []*events.Event) error {
	tenant := batch[0].Tenant
	first := o.nextSequence(tenant)
	last := first + uint64(len(batch)) - 1
	if err := o.losses.add(tenant, first, last); err != nil {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	for i, e := range batch {
		e.Producer, e.Sequence = o.id.Producer, first+uint64(i)
	}
	o.next[tenant] = last + 1
	o.gaps.add(gap{tenant, events.Range{First: first, Last: last, Reason: reasonShed}})
	o.shed += uint64(len(batch))
	if o.opts.Durability == DiskDurability {
		if err := syncData(o.losses.file); err != nil {
			return fmt.Errorf("%w: sync loss: %w", ErrShed, err)
		}
	}
	return ErrShed
}
