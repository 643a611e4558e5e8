package verifier

import (
	"cmp"
	"crypto/ed25519"
	"time"

	"github.com/nats-io/nkeys"
	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Enrolment says whether an issuer has confirmed that the signing key of a producer belongs to this
// producer.
type Enrolment struct {
	Enrolled bool   `json:"enrolled"`         // an accepted issuer granted the key
	Issuer   string `json:"issuer,omitempty"` // public key of the issuer
	// EnrolledFrom is when the issuer's grant arrived, if it arrived after the producer's first
	// manifest. The grant also covers earlier manifests with the same key.
	EnrolledFrom time.Time `json:"enrolled_from,omitzero"`
	GrantFault   string    `json:"grant_fault,omitempty"` // why a grant was not accepted
}

const grantUnsigned = "the issuer has not signed it"

func isGranted(g *events.Grant) bool {
	if g == nil {
		return false
	}
	public, err := nkeys.Decode(nkeys.PrefixByteUser, []byte(g.Issuer))
	return err == nil && ed25519.Verify(public, g.SignedText(), g.Signature())
}

// readIssuers must run before the walk over the records, because the order that adds an issuer can
// come after a grant of this issuer.
func (v *verifier) readIssuers(conn *sqlite.Conn, tenant string) error {
	leaves, err := ledger.IssuerLeaves(conn)
	if err != nil {
		return err
	}
	orders := make([]ledger.KeyOrder, len(leaves))
	for i, leaf := range leaves {
		signed, err := orderAt(conn, leaf)
		if err != nil {
			return err
		}
		orders[i] = ledger.KeyOrder{Leaf: leaf, Signed: signed}
	}
	v.issuers = ledger.SignedIssuers(v.keys, tenant, orders)
	return nil
}

func (c *completeness) grantFault(leaf int64, f fact, a ledger.Arrival) string {
	m := f.manifest
	switch {
	case m.Grant == nil:
		return ""
	case !f.granted:
		return grantUnsigned
	}
	if fault := m.Grant.Fault(*m, time.Unix(0, a.Stored)); fault != "" {
		return fault
	}
	e, err := ledger.OpenEndorsement(m.Grant.Endorsed, c.keys.At(leaf))
	return c.issuers.Fault(m.Grant.Issuer, err == nil && e.Covers(m.Grant.Issuer, m.Tenant), leaf, time.Unix(0, a.Stored))
}

func (l listing) isGranted() bool {
	return l.Grant != nil && l.signature == signatureValid && l.grantFault == ""
}

type beginning struct {
	key     string
	granted bool
	first   bool // the manifest starts at number 1, so earlier unsigned manifests are foreign
}

func (s *sender) refusal(l listing) string {
	began := s.found.known.began[s.name]
	key := cmp.Or(s.key, began.key)
	switch {
	case l.signature == signatureBad:
		return foreignBad
	case l.signature == signatureNone && (s.key != "" || began.first):
		return foreignUnsigned
	case l.signature == signatureValid && key != "" && l.Key != key && !s.repeatsKeyChange(l):
		return foreignKey
	}
	return ""
}

func (s *sender) repeatsKeyChange(l listing) bool {
	return l.Next != "" && l.Next == s.key && l.Key == s.oldKey && l.First > l.Last
}

func (s *sender) overtakes(l listing) bool {
	return l.isGranted() && !s.enrolment.Enrolled && s.key != "" && l.Key != s.key && !s.found.known.began[s.name].granted
}

func (s *sender) enrol(l listing) {
	switch {
	case l.Grant == nil || s.enrolment.Enrolled:
	case l.grantFault != "":
		s.enrolment.GrantFault = l.grantFault
	default:
		s.enrolment = Enrolment{Enrolled: true, Issuer: l.Grant.Issuer}
		if l.First > 1 || l.Prev != "" {
			s.enrolment.EnrolledFrom = time.Unix(0, l.at.Stored).UTC()
		}
	}
}

func (r *Report) concludeEnrolment() {
	r.Enrolled, r.NotEnrolled = 0, []string{}
	for _, p := range r.Producers {
		if p.Enrolled {
			r.Enrolled++
		} else {
			r.NotEnrolled = append(r.NotEnrolled, p.Name)
		}
	}
}
