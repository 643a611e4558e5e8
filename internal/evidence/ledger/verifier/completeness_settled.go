package verifier

import "github.com/hooktrail/hooktrail/pkg/events"

type settled []events.Range

func (s *settled) add(m events.Manifest) {
	last := len(*s) - 1
	switch {
	case !m.IsSigned() || m.First > m.Last:
	case last >= 0 && (*s)[last].Last+1 == m.First:
		(*s)[last].Last = m.Last
	default:
		*s = append(*s, events.Range{First: m.First, Last: m.Last})
	}
}

func (s settled) has(sequence uint64) bool { return contains(s, sequence) }
