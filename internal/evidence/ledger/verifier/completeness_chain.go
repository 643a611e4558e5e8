package verifier

import (
	"cmp"
	"slices"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// link is a place in a chain of manifests after which another manifest may continue.
type link struct {
	hash string // of the previous manifest, or "" at the start
	last uint64
}

const (
	maxLinks  = 4096 // places that are remembered, for manifests that list numbers again
	maxResent = 1000 // manifests with numbers listed again that are checked at the end
	maxOthers = 1 << 14
)

// other is further content under a number that is in use. Until a manifest lists the number,
// this content may turn out to be the producer's, and the first one foreign.
type other struct {
	hash events.Hash
	at   ledger.Arrival
}

// listing is a manifest with the result of its checks.
type listing struct {
	events.Manifest

	hash       events.Hash
	signature  signature
	grantFault string // why its grant is not accepted; empty if it is, or if there is no grant
	at         ledger.Arrival
}

// chain is the state of the chain of manifests of one producer.
type chain struct {
	key            string // key that signs the manifests; empty before the first signed one
	oldKey         string // key that was replaced by key
	enrolment      Enrolment
	unsignedLast   uint64 // last number that only unsigned manifests list
	unsignedBefore time.Time
	// unsignedMissing is the number of ranges at the start of missing that unsigned manifests
	// list.
	unsignedMissing int
	tip             link
	links           []link // recent places after which a manifest may continue, including tip
	resent          []events.Manifest
	tooMany         bool // more manifests listed numbers again than can be checked
}

// adopt makes the key of the first signed manifest the key of the producer.
func (s *sender) adopt(l listing) {
	if l.signature != signatureValid || s.key != "" {
		return
	}
	s.key = l.Key
	switch {
	case s.manifests == 0:
	case l.First == 1 && l.Prev == "":
		// The unsigned manifests before it are foreign.
		s.found.next.addBeginning(s.name, beginning{key: l.Key, first: true, granted: l.isGranted()})
	default:
		s.unsignedLast, s.unsignedBefore = s.listed, time.Unix(0, l.at.Stored).UTC()
	}
}

// manifest adds a manifest to the chain. Normally it must continue the previous one. A
// producer with a key may also continue after any of its earlier manifests, and list events
// again. It does so when a foreign manifest made it believe that the stream does not have
// these events. If the manifest is foreign, the method returns the reason, and otherwise "".
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
		// Either the manifest is forged, or two processes used one outbox.
		s.gaps = append(s.gaps, Gap{Producer: s.name, First: l.First, Last: l.Last, Cause: CauseAltered, Reason: "listed twice"})
		return ""
	case !isAgain && at != s.tip:
		s.lostManifest(s.listed+1, l.First-1)
		s.remember(at)
	}
	s.announced(l)
	s.take(l, isAgain)
	return ""
}

func (s *sender) take(l listing, isAgain bool) {
	s.tip, s.listed = link{l.hash.String(), l.Last}, max(s.listed, l.Last)
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
		s.forget(l.Manifest)
	case isAgain:
		s.tooMany = true
	case !s.resolve(l.Manifest):
		s.partial = append(s.partial, l.Manifest)
	}
}

func (s *sender) remember(l link) {
	if len(s.links) == maxLinks {
		s.links = slices.Delete(s.links, 0, maxLinks/2)
	}
	s.links = append(s.links, l)
}

// addOther adds further content under a number that is in use. It ignores copies of the first
// content.
func (s *sender) addOther(sequence uint64, o other) {
	switch {
	case sequence <= s.unsignedLast || s.hashes[sequence] == o.hash:
	case s.key != "" && sequence <= s.listed && !s.isPartial(sequence):
		s.reuse(sequence, o)
	case s.otherCount < maxOthers:
		if s.others == nil {
			s.others = make(map[uint64][]other)
		}
		s.otherCount++
		s.others[sequence] = append(s.others[sequence], o)
	}
}

func (s *sender) isPartial(sequence uint64) bool {
	i, _ := slices.BinarySearchFunc(s.partial, sequence, func(m events.Manifest, n uint64) int { return cmp.Compare(m.Last, n) })
	return i < len(s.partial) && s.partial[i].First <= sequence
}

func (s *sender) reuse(sequence uint64, o other) {
	s.found.add(Foreign{
		Leaf: o.at.Leaf, Class: ledger.ClassConflict, Producer: s.name, Sequence: sequence,
		StreamSequence: uint64(o.at.Stream), Reason: foreignContent, SHA256: o.hash.String(),
	})
}

// settleOthers finds out which content under each number of m belongs to the producer, by
// comparing the root of m. numbers and hashes are the numbers that m lists and their first
// contents. It returns false if no combination of the contents has the root of m.
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

// maxChoices limits the work of choose for all producers together. It is the number of hashes
// in the roots that choose computes, not counting the first two roots of each manifest.
const maxChoices = 1 << 21

// choose picks one content for each number so that the contents have the given root. It first
// tries the last content of each number, then the first, and then all combinations.
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

// checkResent checks the manifests that list numbers again. It compares their roots with the
// contents that arrived under these numbers.
func (c *completeness) checkResent(s *sender) error {
	for _, m := range s.resent {
		if m.Count > maxUnlisted || c.contents == nil {
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
	missing := m.Missing
	for n := m.First; n <= m.Last; n++ {
		for len(missing) > 0 && missing[0].Last < n {
			missing = missing[1:]
		}
		if len(missing) > 0 && missing[0].First <= n {
			n = missing[0].Last
			continue
		}
		if len(contents[n]) == 0 {
			return nil, nil, false
		}
		choices, numbers = append(choices, contents[n]), append(numbers, n)
	}
	return choices, numbers, true
}
