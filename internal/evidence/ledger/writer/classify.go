package writer

import (
	"errors"
	"fmt"
	"math"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type record struct {
	leaf  ledger.Leaf
	event events.Event
	copy  bool // the ledger already has this message
}

type classifier struct {
	conn     *sqlite.Conn
	names    *names
	crowds   *crowds
	epoch    uint64
	contents map[int64]content // by leaf; an order that destroys payloads must clear it
}

func (c classifier) message(m ledger.Message) (record, error) {
	r := record{leaf: ledger.Leaf{
		Class: ledger.ClassQuarantine, Producer: m.Address.Producer, Run: m.Address.Run, Kind: m.Address.Kind,
		Hash: events.HashOf(m.Data),
	}}
	if m.Address.Manifest {
		return c.manifest(m, r)
	}
	if r.event, r.leaf.Finding = readEvent(m); r.leaf.Finding != "" {
		return r, c.compareQuarantine(&r)
	}
	e := &r.event
	r.leaf = ledger.Leaf{
		Class: ledger.ClassEvent, ID: e.ID, Producer: e.Producer, Sequence: e.Sequence,
		Run: e.Run, Kind: m.Address.Kind, Time: e.Time.UTC(), Hash: r.leaf.Hash,
	}
	return r, c.compareNumber(&r)
}

func readEvent(m ledger.Message) (events.Event, ledger.Finding) {
	a := m.Address
	e, err := events.Decode(m.Data)
	switch {
	case err != nil:
		return e, ledger.FindingUndecodable
	case e.Tenant != a.Tenant || e.Producer != a.Producer || e.Run != a.Run || e.Kind() != a.Kind:
		return e, ledger.FindingMisaddressed
	case e.Sequence == 0 || e.Sequence > math.MaxInt64:
		return e, ledger.FindingUnnumbered
	case len(e.ID)*3 > ledger.MaxLeafBytes/2: // the other fields are bounded by the subject
		return e, ledger.FindingOversized
	}
	return e, ""
}

func readManifest(m ledger.Message) (events.Manifest, ledger.Finding) {
	manifest, err := events.DecodeManifest(m.Data)
	if err == nil {
		err = manifest.Validate()
	}
	switch {
	case err != nil:
		return manifest, ledger.FindingUndecodable
	case manifest.Tenant != m.Address.Tenant || manifest.Producer != m.Address.Producer:
		return manifest, ledger.FindingMisaddressed
	case manifest.Last > math.MaxInt64:
		return manifest, ledger.FindingUnnumbered
	}
	return manifest, ""
}

func (c classifier) compareQuarantine(r *record) error {
	earlier, err := c.recordsAt(r.leaf)
	epoch, ok := earlier[r.leaf.Hash]
	r.copy = ok && epoch < int64(c.epoch)
	return err
}

func (c classifier) compareNumber(r *record) error {
	if p := c.names.producers[r.leaf.Producer]; p == nil || int64(r.leaf.Sequence) > p.high {
		return nil
	}
	earlier, err := c.recordsAt(r.leaf)
	if _, r.copy = earlier[r.leaf.Hash]; !r.copy && len(earlier) > 0 {
		r.leaf.Class, r.leaf.Finding = ledger.ClassConflict, ledger.FindingSequenceReused
	}
	return err
}

func (c classifier) recordsAt(l ledger.Leaf) (records, error) {
	var number int64
	if p := c.names.producers[l.Producer]; p != nil {
		number = p.number
	} else if l.Producer != "" {
		return nil, nil
	}
	return c.crowds.at(placeOf(l, number))
}

func (c classifier) manifest(m ledger.Message, r record) (record, error) {
	var manifest events.Manifest
	if manifest, r.leaf.Finding = readManifest(m); r.leaf.Finding != "" {
		return r, c.compareQuarantine(&r)
	}
	r.leaf = ledger.Leaf{Class: ledger.ClassManifest, Producer: manifest.Producer, Sequence: manifest.Last, Hash: r.leaf.Hash}
	earlier, err := c.recordsAt(r.leaf)
	_, r.copy = earlier[r.leaf.Hash]
	return r, err
}

func (c classifier) compareContent(r record) (first int64, same bool, err error) {
	first, err = sqlitetx.Int(c.conn, "SELECT leaf FROM leaves WHERE id = ? AND class = 'event'", r.leaf.ID)
	if err != nil {
		return 0, false, err
	}
	stored, err := c.content(first)
	if errors.Is(err, ledger.ErrNoPayload) {
		if same, err := c.sameAsRemoved(first, r); err != nil || same {
			return first, same, err
		}
	}
	if err != nil {
		return 0, false, err
	}
	return first, stored.matches(contentOf(r.event)), nil
}

func (c classifier) content(leaf int64) (content, error) {
	if stored, ok := c.contents[leaf]; ok {
		return stored, nil
	}
	data, err := ledger.ReadPayload(c.conn, leaf)
	if err != nil {
		return content{}, fmt.Errorf("payload of leaf %d: %w", leaf, err)
	}
	e, err := events.Decode(data)
	if err != nil {
		return content{}, fmt.Errorf("%w: payload of leaf %d: %w", ledger.ErrDamaged, leaf, err)
	}
	c.contents[leaf] = contentOf(e)
	return c.contents[leaf], nil
}

type content struct {
	kind, run, call string
	user            string // an import of a log names none
	data, binary    events.Hash
}

func contentOf(e events.Event) content {
	return content{e.Type, e.Run, e.ToolCall, e.User, events.HashOf(e.Data), events.HashOf(e.Binary)}
}

func (c content) matches(d content) bool {
	if c.user == "" || d.user == "" {
		c.user, d.user = "", ""
	}
	return c == d
}

// sameAsRemoved recognises a copy of a destroyed event, because storing the copy would restore the
// payload.
func (c classifier) sameAsRemoved(first int64, r record) (same bool, err error) {
	err = ledger.EachTarget(c.conn, ledger.LeafRange{First: first, Last: first}, func(t ledger.Target) error {
		same = t.Removal.Done() && t.Run == r.leaf.Run && t.Kind == string(r.leaf.Kind)
		return nil
	})
	return same, err
}
