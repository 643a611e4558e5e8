package verifier

import (
	"fmt"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
)

// Trusted is the result of comparing the ledger with a checkpoint from outside.
type Trusted struct {
	From       string    `json:"from,omitempty"` // where the checkpoint was found; empty for Options.Trusted
	Size       int64     `json:"size"`
	Root       string    `json:"root"`
	Time       time.Time `json:"time"`
	Diverged   bool      `json:"diverged"`
	Unusable   bool      `json:"unusable,omitempty"` // unreadable or signed by another key, so it proves nothing
	WithLedger bool      `json:"beside,omitempty"`   // stored with the ledger, so a match proves nothing
	Reason     string    `json:"reason,omitempty"`
}

func (t *Trusted) diverge(reason string) { t.Diverged, t.Reason = true, reason }

// Anchored is a stored checkpoint from an anchor.
type Anchored struct {
	From string
	Note []byte
	Err  error // why Note could not be read

	// WithLedger reports that the checkpoint is stored with the ledger. Somebody who can
	// change the ledger can also change it. It is compared, but a match proves nothing.
	WithLedger bool
}

type trusted struct {
	ledger.Checkpoint
	found    Trusted
	given    bool   // the user passed it as trusted
	signed   []byte // the signed note
	cosigned []byte // the note with cosignatures; nil if it has none
	compared bool
	foreign  bool // signed by a key of another ledger, which counts as a divergence
}

// trusted returns all checkpoints from outside the ledger. It includes unusable ones, because
// the report lists them.
func (o Options) trusted() (all []trusted, err error) {
	if o.Trusted != nil {
		c, signed, err := ReadTrusted(o.Trusted)
		if err != nil {
			return nil, err
		}
		if o.Tenant != "" && c.Tenant != o.Tenant {
			return nil, fmt.Errorf("trusted checkpoint is of tenant %q, not %q", c.Tenant, o.Tenant)
		}
		all = append(all, newTrusted("", c))
		all[0].given, all[0].signed = true, signed
	}
	for _, k := range o.Anchored {
		c, err, signed := ledger.Checkpoint{}, k.Err, ledger.TrimNote(k.Note)
		if err == nil {
			c, err = ledger.ReadCheckpoint(signed)
		}
		t := newTrusted(k.From, c)
		if err != nil {
			t.found = Trusted{From: k.From, Unusable: true, Reason: err.Error()}
		}
		t.found.WithLedger, t.signed = k.WithLedger, signed
		all = append(all, t)
	}
	if o.Witnessed != nil && o.Witnesses != nil {
		all = append(all, o.witnessed())
	}
	return all, nil
}

func newTrusted(from string, c ledger.Checkpoint) trusted {
	return trusted{Checkpoint: c, found: Trusted{From: from, Size: c.Size, Root: c.Root.String(), Time: c.Time}}
}

func (w *walk) compareTrusted() {
	w.facts.asOf = time.Time{}
	for i := range w.v.trusted {
		t := &w.v.trusted[i]
		if t.found.Unusable || t.foreign || w.arrivals.Count != t.Arrivals {
			continue
		}
		t.compared = true
		switch {
		case w.tree.size != t.Size || w.tree.root() != t.Root:
			t.found.diverge("the ledger's root there is another one")
		case w.arrivals.Digest != t.Digest:
			t.found.diverge("where the ledger's leaves came from, or what was seen again, is something else there")
		default:
			w.facts.asOf = later(w.facts.asOf, t.Time)
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (v *verifier) concludeTrusted() {
	r := &v.report
	for i := range v.trusted {
		t := &v.trusted[i]
		if !t.found.Unusable && !t.foreign {
			if !t.compared {
				t.found.diverge(fmt.Sprintf("the ledger ends before it, with %d leaves", r.Leaves))
			}
			// A break of the stream changes only the checkpoint and not the tree. Somebody
			// could remove that checkpoint unnoticed, so the positions are compared too.
			if t.Arrivals == v.newest.Arrivals && t.Position.Behind(v.newest.Position) {
				t.found.diverge("the ledger ends before it, and does not say that the stream broke off")
			}
			if v.newest.Tenant != t.Tenant {
				t.found.diverge(fmt.Sprintf("it is of tenant %q", t.Tenant))
			}
		}
		switch {
		case t.given:
			r.Trusted = &t.found
		case t.cosigned == nil || t.found.Diverged:
			r.Anchored = append(r.Anchored, t.found)
		}
	}
	v.concludeWitnesses()
}

// trusts reports whether there is a usable checkpoint from outside the ledger, and whether the
// ledger diverged from such a checkpoint.
func (r *Report) trusts() (found, diverged bool) {
	if r.Trusted != nil {
		found, diverged = true, r.Trusted.Diverged
	}
	for _, k := range r.Anchored {
		found, diverged = found || !k.Unusable && !k.WithLedger, diverged || k.Diverged
	}
	return found, diverged
}
