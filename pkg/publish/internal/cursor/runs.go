package cursor

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// RunKey identifies a run.
type RunKey struct{ Tenant, Run string }

// Tally counts the events of one run that the stream has acknowledged.
type Tally struct {
	Count    uint64 `json:"count"`
	First    uint64 `json:"first"`
	Last     uint64 `json:"last"`
	Digest   Digest `json:"digest"` // as in events.RunSealedData
	Finished bool   `json:"finished,omitempty"`
	Sealed   uint64 `json:"sealed,omitempty"` // Count at the last seal
	Lost     bool   `json:"lost,omitempty"`   // the count is unreadable, so the run is never sealed
	Heard    uint64 `json:"-"`                // last ordinal read when the latest event was acknowledged
}

// Digest is a hash with a hex encoding.
type Digest events.Hash

// Chain returns SHA-256(d ‖ hash). The seal of a run contains the result for all events of the
// run, see events.RunSealedData.
func (d Digest) Chain(hash events.Hash) Digest {
	var b [len(d) + len(hash)]byte
	copy(b[:], d[:])
	copy(b[len(d):], hash[:])
	return sha256.Sum256(b[:])
}

// MarshalText returns d in hex.
func (d Digest) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, d[:]), nil }

// UnmarshalText reads hex.
func (d *Digest) UnmarshalText(text []byte) error {
	h, err := events.ParseHash(string(text))
	*d = Digest(h)
	return err
}

// Runs stores a [Tally] of the acknowledged events for each run. The tallies of idle runs are only
// on disk.
type Runs struct {
	memory map[RunKey]*Tally
	dirty  map[string]map[string]*Tally
	idle   idleRuns
}

// InMemory returns the event counts of the runs that are in memory.
func (r *Runs) InMemory() map[RunKey]*Tally { return r.memory }

// Load returns the event count of a run, and reads it from disk if necessary. If the count is
// unreadable, Lost is set in the result, and the run is never sealed.
func (r *Runs) Load(key RunKey) (*Tally, error) {
	if t := r.memory[key]; t != nil {
		return t, nil
	}
	t, err := r.idle.get(key)
	if err != nil {
		// A lost tally prevents the seal, because a wrong count in a seal would be a false alarm.
		t = &Tally{Lost: true}
	}
	if t == nil {
		t = &Tally{}
	}
	r.memory[key] = t
	return t, err
}

// Touch marks the event count of a run as changed, so that [Cursor.Save] writes it.
func (r *Runs) Touch(key RunKey) {
	if r.dirty == nil {
		r.dirty = map[string]map[string]*Tally{}
	}
	put(r.dirty, key, r.memory[key])
}

func byTenant(list map[RunKey]*Tally) map[string]map[string]*Tally {
	all := make(map[string]map[string]*Tally)
	for key, t := range list {
		put(all, key, t)
	}
	return all
}

func put(all map[string]map[string]*Tally, key RunKey, t *Tally) {
	if all[key.Tenant] == nil {
		all[key.Tenant] = map[string]*Tally{}
	}
	all[key.Tenant][key.Run] = t
}

func (r *Runs) retire(keep func(RunKey) bool) error {
	keys := make([]RunKey, 0, len(r.memory))
	for key := range r.memory {
		if !keep(key) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b RunKey) int {
		return cmp.Compare(r.memory[a].Heard, r.memory[b].Heard)
	})
	old := map[RunKey]*Tally{}
	for _, key := range keys[:len(keys)/2] {
		old[key] = r.memory[key]
	}
	if err := r.idle.put(old); err != nil {
		return err
	}
	for key := range old {
		delete(r.memory, key)
	}
	return nil
}
