package verifier

import (
	"slices"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// A link is a place in a producer's chain of manifests. The next manifest must contain hash and
// begin after the number last.
type link struct {
	hash string // hash of the previous manifest; "" at the start
	last uint64
}

const (
	maxLinks  = 4096 // maximum length of links
	maxResent = 1000 // maximum length of resent
	maxOthers = 1 << 14
	maxReread = 1 << 18 // limit after which no more resent manifests are compared
	maxWalked = 1 << 25 // limit after which lost events are no longer removed from memory
)

type other struct {
	hash events.Hash
	at   ledger.Arrival
}

type listing struct {
	events.Manifest

	hash       events.Hash
	signature  signature
	grantFault string // why the grant is not accepted, if so
	at         ledger.Arrival
}

type chain struct {
	key            string // empty before the first signed manifest
	oldKey         string // key before the last change
	enrolment      Enrolment
	unsignedLast   uint64 // last number that only unsigned manifests list
	unsignedBefore time.Time
	// unsignedMissing is the number of ranges in missing that come from unsigned manifests. These
	// ranges come first.
	unsignedMissing int
	tip             link
	links           []link // recent places, including tip
	resent          []events.Manifest
	reread          uint64  // contents that were read for resent manifests
	walked          int     // hashes that were looked through to remove lost events
	settled         settled // numbers whose contents a signed manifest has proved
	tooMany         bool    // too many manifests list numbers again to check them all
}

func (s *sender) adopt(l listing) {
	if l.signature != signatureValid || s.key != "" {
		return
	}
	s.key = l.Key
	switch {
	case s.manifests == 0:
	case l.First == 1 && l.Prev == "":
		s.found.next.addBeginning(s.name, beginning{key: l.Key, first: true, granted: l.isGranted()})
	default:
		s.unsignedLast, s.unsignedBefore = s.listed, time.Unix(0, l.at.Stored).UTC()
	}
}

func (s *sender) manifest(l listing) string {
	if s.overtakes(l) {
		s.found.next.addBeginning(s.name, beginning{key: l.Key, first: l.First == 1 && l.Prev == "", granted: true})
	}
	if reason := s.refusal(l); reason != "" {
		return reason
	}
	if s.repeatsKeyChange(l) {
		return ""
	}
	s.adopt(l)
	s.enrol(l)
	s.manifests++
	s.silentSinceBreak = false
	at, isAgain := link{l.Prev, l.First - 1}, l.First <= s.listed
	switch {
	case isAgain && (s.key == "" || !slices.Contains(s.links, at)):
		// The manifest is forged, or two processes used the same outbox.
		s.gaps = append(s.gaps, Gap{Producer: s.name, First: l.First, Last: l.Last, Cause: CauseAltered, Reason: "listed twice"})
		return ""
	case !isAgain && at != s.tip:
		s.lostManifest(s.listed+1, l.First-1)
		s.remember(at)
	}
	s.announced(l)
	s.signed.add(l)
	s.take(l, isAgain)
	return ""
}

func (s *sender) take(l listing, isAgain bool) {
	before := s.listed
	s.tip, s.listed = link{l.hash.String(), l.Last}, max(s.listed, l.Last)
	s.tail.list(s.listed)
	s.remember(s.tip)
	if l.Next != "" && l.signature == signatureValid {
		s.key, s.oldKey = l.Next, l.Key
	}
	s.missing = append(s.missing, l.Missing...)
	if s.key == "" {
		s.unsignedMissing = len(s.missing)
	}
	switch {
	case isAgain && len(s.resent) < maxResent:
		s.resent = append(s.resent, l.Manifest)
		s.forget(events.Manifest{First: before + 1, Last: l.Last}) // earlier manifests may need lower numbers
	case isAgain:
		s.tooMany = true
	case !s.resolve(l.Manifest, false):
		s.partial = append(s.partial, l.Manifest)
	}
}

func (s *sender) remember(l link) {
	if len(s.links) == maxLinks {
		s.links = slices.Delete(s.links, 0, maxLinks/2)
	}
	s.links = append(s.links, l)
}

func (s *sender) addOther(sequence uint64, o other) {
	switch {
	case sequence <= s.unsignedLast || s.hashes[sequence] == o.hash:
	case s.settled.has(sequence):
		s.reuse(sequence, o)
	case s.otherCount < maxOthers:
		if s.others == nil {
			s.others = make(map[uint64][]other)
		}
		s.otherCount++
		s.others[sequence] = append(s.others[sequence], o)
	}
}

func (s *sender) reuse(sequence uint64, o other) {
	s.found.add(Foreign{
		Leaf: o.at.Leaf, Class: ledger.ClassConflict, Producer: s.name, Sequence: sequence,
		StreamSequence: uint64(o.at.Stream), Reason: foreignContent, SHA256: o.hash.String(),
	})
}

func (s *sender) settleOthers(m events.Manifest, numbers []uint64, hashes []events.Hash) bool {
	isFirst := events.BatchRoot(hashes).String() == m.Root
	if !m.IsSigned() || len(s.others) == 0 {
		return isFirst
	}
	choices := make([][]events.Hash, len(numbers))
	for i, n := range numbers {
		choices[i] = append(choices[i], hashes[i])
		for _, o := range s.others[n] {
			choices[i] = append(choices[i], o.hash)
		}
	}
	picked, ok := s.found.choose(choices, m.Root)
	if !ok {
		return false
	}
	for i, n := range numbers {
		for j, hash := range choices[i] {
			switch {
			case picked[i] > 0 && hash != choices[i][picked[i]]:
				s.found.next.addContent(numberedContent{s.name, n, hash})
			case picked[i] == 0 && j > 0:
				s.reuse(n, s.others[n][j-1])
			}
		}
		s.otherCount -= len(s.others[n])
		delete(s.others, n)
	}
	return true
}

const maxChoices = 1 << 21

// choose picks one of the possible hashes for each event number, so that together they have the
// given root hash.
func (f *foreigners) choose(choices [][]events.Hash, root string) (picked []int, ok bool) {
	hashes := make([]events.Hash, len(choices))
	fits := func(picked []int) bool {
		for i, p := range picked {
			hashes[i] = choices[i][p]
		}
		return events.BatchRoot(hashes).String() == root
	}
	picked = make([]int, len(choices))
	for i := range picked {
		picked[i] = len(choices[i]) - 1 // likely, because a batch arrives as a whole
	}
	if fits(picked) {
		return picked, true
	}
	clear(picked)
	for {
		if fits(picked) {
			return picked, true
		}
		if f.tried += len(choices); f.tried > maxChoices {
			return nil, false
		}
		i := 0
		for ; i < len(picked); i++ {
			if picked[i]++; picked[i] < len(choices[i]) {
				break
			}
			picked[i] = 0
		}
		if i == len(picked) {
			return nil, false
		}
	}
}

func (c *completeness) checkResent(s *sender) error {
	for _, m := range s.resent {
		if m.Count > maxUnlisted || c.contents == nil || s.reread > maxReread {
			s.tooMany = true
			continue
		}
		contents, err := c.contents(s, m.First, m.Last)
		if err != nil {
			return err
		}
		choices, numbers, ok := choicesOf(m, contents)
		if !ok {
			continue // a missing number is reported as a gap
		}
		picked, ok := c.found.choose(choices, m.Root)
		if !ok {
			s.gaps = append(s.gaps, Gap{Producer: s.name, First: m.First, Last: m.Last, Cause: CauseAltered, Reason: "listed twice"})
			continue
		}
		for i, p := range picked {
			for _, hash := range choices[i] {
				if hash != choices[i][p] && numbers[i] > s.unsignedLast {
					s.found.next.addContent(numberedContent{s.name, numbers[i], hash})
				}
			}
		}
	}
	return nil
}

func choicesOf(m events.Manifest, contents map[uint64][]events.Hash) (choices [][]events.Hash, numbers []uint64, ok bool) {
	for n := range listed(m) {
		if len(contents[n]) == 0 {
			return nil, nil, false
		}
		choices, numbers = append(choices, contents[n]), append(numbers, n)
	}
	return choices, numbers, true
}
