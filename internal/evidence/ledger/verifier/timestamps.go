package verifier

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor/timestamp"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
)

// TimeStamps is the result of checking the time stamps of a ledger or bundle.
type TimeStamps struct {
	Stored  int        `json:"stored"`           // number of time stamps that are there
	Checked bool       `json:"checked"`          // false if no certificates were given; then none is good
	Good    int        `json:"good"`             // tokens of a trusted authority about checkpoints of this ledger
	Newest  *TimeStamp `json:"newest,omitempty"` // covers the most leaves; the earliest of several
	// Bad lists the first time stamps that are damaged, untrusted, or about other data. BadCount
	// counts all.
	Bad      []BadTimeStamp `json:"bad,omitempty"`
	BadCount int            `json:"bad_count,omitempty"`
	// Diverged lists the first time stamps that show another history of the ledger. DivergedCount
	// counts all of them.
	Diverged      []BadTimeStamp `json:"diverged,omitempty"`
	DivergedCount int            `json:"diverged_count,omitempty"`
}

// TimeStamp describes a valid time stamp. It proves that the first Size leaves of the ledger
// existed at Time.
type TimeStamp struct {
	Name   string    `json:"name,omitempty"` // file with the token
	Size   int64     `json:"size"`           // number of leaves
	Behind int64     `json:"behind"`         // number of later leaves in the ledger or bundle
	Time   time.Time `json:"time"`           // time of the token
	Latest time.Time `json:"latest"`         // Time and the accuracy of the token
	By     string    `json:"by"`             // subject of the authority's certificate
	Serial string    `json:"serial"`         // number of the token at the authority
}

// BadTimeStamp names a time stamp and the reason why it does not count.
type BadTimeStamp struct {
	Name   string `json:"name,omitempty"`
	Reason string `json:"reason"`
}

const maxStamps = 20 // number of listed time stamps

// Lacks reports whether a time stamp is bad, or no time stamp is good. It returns false if there
// are no certificates to check the time stamps with.
func (t *TimeStamps) Lacks() bool { return t != nil && t.Checked && (t.Good == 0 || t.BadCount > 0) }

func (t *TimeStamps) diverges() bool { return t != nil && t.DivergedCount > 0 }

func (t *TimeStamps) bad(name, reason string) {
	if t.BadCount++; len(t.Bad) < maxStamps {
		t.Bad = append(t.Bad, BadTimeStamp{name, reason})
	}
}

func (t *TimeStamps) diverge(name, reason string) {
	if t.DivergedCount++; len(t.Diverged) < maxStamps {
		t.Diverged = append(t.Diverged, BadTimeStamp{name, reason})
	}
}

// Count increases t.Newest.Behind, the number of leaves after the newest time stamp, if the given
// leaf is one of them. t may be nil.
func (t *TimeStamps) Count(leaf int64) {
	if t != nil && t.Newest != nil && leaf >= t.Newest.Size {
		t.Newest.Behind++
	}
}

func (t *TimeStamps) good(s Stamp) {
	t.Good++
	one := &TimeStamp{
		Name: s.Stored.Name, Size: s.Size, Time: s.token.Time, Latest: s.token.Latest(), By: s.by, Serial: s.token.Serial.String(),
	}
	if n := t.Newest; n == nil || n.Size < one.Size || n.Size == one.Size && one.Latest.Before(n.Latest) {
		t.Newest = one
	}
}

// A Stamp is a stored time stamp with the result of checking its token.
type Stamp struct {
	ledger.Checkpoint

	Stored   timestamp.Stored
	token    *timestamp.Token
	by       string
	bad      string // why it does not count, if so
	diverged string
	foreign  bool // not signed by a key of the ledger
	compared bool
}

// CheckStamp checks the token of a stored time stamp. If roots is not nil, CheckStamp also checks
// that one of these certificates issued the certificate of the token. It does not check the
// signature of the checkpoint.
func CheckStamp(stored timestamp.Stored, roots *x509.CertPool) Stamp {
	s := Stamp{Stored: stored}
	err := stored.Err
	if err == nil {
		s.Checkpoint, err = ledger.ReadCheckpoint(stored.Note)
	}
	if err != nil {
		s.foreign, s.bad = true, err.Error() // there is no checkpoint to compare
		return s
	}
	if s.token, err = timestamp.Parse(stored.Token); err == nil {
		err = s.token.Covers(stored.Note)
	}
	if err == nil && roots != nil {
		s.by, err = s.token.Verify(roots)
	}
	if err != nil {
		s.bad = err.Error()
	}
	return s
}

// Usable reports whether the time stamp has passed all checks so far.
func (s Stamp) Usable() bool { return s.bad == "" }

func (o Options) checkStamps() []Stamp {
	list := make([]Stamp, len(o.Stamps))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, stored := range o.Stamps {
		group.Go(func() error { list[i] = CheckStamp(stored, o.TSA); return nil })
	}
	_ = group.Wait()
	slices.SortStableFunc(list, func(a, b Stamp) int { return cmp.Compare(a.Arrivals, b.Arrivals) })
	return list
}

// Open checks that a key of the ledger signed the time-stamped checkpoint. Otherwise, the
// checkpoint may belong to an earlier ledger that this ledger replaced.
func (s *Stamp) Open(keys ledger.Keys) {
	if s.foreign {
		return
	}
	_, err := ledger.OpenCheckpoint(s.Stored.Note, keys.At(s.Size))
	if err == nil {
		return
	}
	s.foreign = true
	if reason := OtherKey(err, keys, s.Size); s.bad == "" && reason != "" {
		s.diverged = reason
	} else if s.bad == "" {
		s.bad = err.Error()
	}
}

func (w *walk) compareStamps() {
	list := w.v.stamps
	for ; w.nextStamp < len(list) && list[w.nextStamp].Arrivals <= w.arrivals.Count; w.nextStamp++ {
		s := &list[w.nextStamp]
		if s.foreign || s.Arrivals != w.arrivals.Count {
			continue
		}
		switch s.compared = true; {
		case w.tree.size != s.Size || w.tree.root() != s.Root:
			s.diverged = "the ledger's root there is another one"
		case w.arrivals.Digest != s.Digest:
			s.diverged = "where the ledger's leaves came from, or what was seen again, is something else there"
		}
	}
}

func (v *verifier) concludeStamps() {
	if len(v.stamps) == 0 && v.opts.TSA == nil {
		return
	}
	r := &v.report
	r.TimeStamps = &TimeStamps{Stored: len(v.stamps), Checked: v.opts.TSA != nil}
	for _, s := range v.stamps {
		switch {
		case s.foreign:
		case v.newest.Tenant != s.Tenant: // copies of several ledgers may be in one folder
			s.bad, s.diverged = fmt.Sprintf("it is of tenant %q", s.Tenant), ""
		case !s.compared:
			s.diverged = fmt.Sprintf("the ledger ends before it, with %d leaves", r.Leaves)
		}
		r.TimeStamps.Add(s)
	}
	if n := r.TimeStamps.Newest; n != nil {
		n.Behind = r.Leaves - n.Size
	}
}

// Add adds the result of one time stamp to the counts and lists.
func (t *TimeStamps) Add(s Stamp) {
	if s.diverged != "" {
		t.diverge(s.Stored.Name, s.diverged)
	}
	switch {
	case s.bad != "":
		t.bad(s.Stored.Name, s.bad)
	case s.diverged == "" && t.Checked:
		t.good(s)
	}
}
