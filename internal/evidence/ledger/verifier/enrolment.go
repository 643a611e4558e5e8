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

// Enrolment says whose key signs the chain of a producer.
type Enrolment struct {
	Enrolled bool   `json:"enrolled"`         // an issuer that counts granted its key
	Issuer   string `json:"issuer,omitempty"` // public key
	// EnrolledFrom is when the grant arrived, if the chain began without one. The grant
	// covers the chain before it, because the same key signed it.
	EnrolledFrom time.Time `json:"enrolled_from,omitzero"`
	GrantFault   string    `json:"grant_fault,omitempty"` // why a grant does not count
}

// grantUnsigned is the fault of a grant that its issuer has not signed.
const grantUnsigned = "the issuer has not signed it"

// isGranted reports whether the issuer in a grant signed it.
func isGranted(g *events.Grant) bool {
	if g == nil {
		return false
	}
	public, err := nkeys.Decode(nkeys.PrefixByteUser, []byte(g.Issuer))
	return err == nil && ed25519.Verify(public, g.SignedText(), g.Signature())
}

// readIssuers reads the orders about issuers. The walk checks their leaves later.
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

// grantFault says why the grant of a manifest does not count, or returns "". A manifest
// without a grant has no fault.
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
	return c.issuers.Fault(m.Grant.Issuer, err == nil && e.Covers(m.Grant.Issuer, m.Tenant), leaf)
}

// isGranted reports whether a manifest brings a grant that counts.
func (l listing) isGranted() bool {
	return l.Grant != nil && l.signature == signatureValid && l.grantFault == ""
}

// beginning is the manifest that begins the chain of a producer. Only its key, and the
// keys that follow from it, continue the chain.
type beginning struct {
	key     string
	granted bool
	first   bool // nothing is in front of it, so that unsigned manifests there are foreign
}

// refusal returns why a manifest is not of the producer that began the chain, or "". The
// first manifest with a grant that counts decides about the key, or else the first valid
// signature.
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

// repeatsKeyChange reports whether the replaced key signed again that its successor is in
// charge. A foreign manifest can hide from the producer that the stream has it.
func (s *sender) repeatsKeyChange(l listing) bool {
	return l.Next != "" && l.Next == s.key && l.Key == s.oldKey && l.First > l.Last
}

// overtakes reports whether a manifest begins the chain instead of one without a grant.
func (s *sender) overtakes(l listing) bool {
	return l.isGranted() && !s.enrolment.Enrolled && s.key != "" && l.Key != s.key && !s.found.known.began[s.name].granted
}

// enrol takes in the grant of a manifest in the chain.
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

// concludeEnrolment counts the enrolled producers and names the others.
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
