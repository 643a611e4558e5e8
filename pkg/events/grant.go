package events

import (
	"encoding/base64"
	"time"
	"unicode/utf8"
)

const grantContext = "hooktrail/grant/v1\n"

// Grant is an issuer's signed statement that a key belongs to a producer. The verifier decides
// which issuers it trusts.
type Grant struct {
	Issuer   string    // public user nkey
	Tenant   *string   // the only tenant, nil for all tenants
	Producer string    // the only producer, empty for any producer
	Key      string    // public key of the producer, a user nkey
	Issued   time.Time // UTC
	Expires  time.Time // UTC, zero for never
	Endorsed string    // signed note in which the ledger's key endorses the issuer, or empty
	Sig      string    // Ed25519 signature of [Grant.SignedText] in base64
}

// SignedText returns the text that the issuer signs, a format line and the grant without Sig.
func (g Grant) SignedText() []byte {
	g.Sig = ""
	return appendGrant(append(make([]byte, 0, 512), grantContext...), g)
}

// Sign returns a signed copy of g. The function sign returns the signature of a text.
func (g Grant) Sign(issuer string, sign func(text []byte) ([]byte, error)) (Grant, error) {
	g.Issuer, g.Issued, g.Expires = issuer, g.Issued.UTC(), g.Expires.UTC()
	sig, err := sign(g.SignedText())
	g.Sig = base64.StdEncoding.EncodeToString(sig)
	return g, err
}

// Signature decodes g.Sig. It returns nil if g.Sig is not an Ed25519 signature in base64.
func (g Grant) Signature() []byte { return signatureBytes(g.Sig) }

// Fault returns why the grant g does not apply to the manifest m, or "" if it applies. stored is
// when the server stored m. Fault verifies no signature.
func (g Grant) Fault(m Manifest, stored time.Time) string {
	switch {
	case g.Key != m.Key:
		return "it is for another key"
	case g.Producer != "" && g.Producer != m.Producer:
		return "it is for another producer"
	case g.Tenant != nil && *g.Tenant != m.Tenant:
		return "it is for another tenant"
	case !g.Expires.IsZero() && !stored.Before(g.Expires):
		return "it had expired"
	}
	return ""
}

func (g Grant) validate() error {
	switch {
	case !isUserKey(g.Issuer):
		return invalid("grant.issuer", notUserKey)
	case !isUserKey(g.Key):
		return invalid("grant.key", notUserKey)
	case g.Tenant != nil && textFault(*g.Tenant) != "":
		return invalid("grant.tenant", textFault(*g.Tenant))
	case textFault(g.Producer) != "":
		return invalid("grant.producer", textFault(g.Producer))
	case !isText(g.Endorsed):
		return invalid("grant.endorsed", "not valid UTF-8, or too long")
	case g.Issued.IsZero():
		return invalid("grant.issued", "missing")
	case g.Signature() == nil:
		return invalid("grant.sig", notSignature)
	}
	return nil
}

const maxEndorsement = 4096 // bytes

func isText(s string) bool { return len(s) <= maxEndorsement && utf8.ValidString(s) }

func appendGrant(dst []byte, g Grant) []byte {
	dst = append(dst, `{"issuer":`...)
	dst = appendString(dst, g.Issuer)
	if g.Tenant != nil {
		dst = append(dst, `,"tenant":`...)
		dst = appendString(dst, *g.Tenant)
	}
	dst = appendAttribute(dst, `,"producer":`, g.Producer)
	dst = append(dst, `,"key":`...)
	dst = appendString(dst, g.Key)
	dst = append(dst, `,"issued":`...)
	dst = appendString(dst, string(appendTime(nil, g.Issued)))
	if !g.Expires.IsZero() {
		dst = append(dst, `,"expires":`...)
		dst = appendString(dst, string(appendTime(nil, g.Expires)))
	}
	dst = appendAttribute(dst, `,"endorsed":`, g.Endorsed)
	dst = appendAttribute(dst, `,"sig":`, g.Sig)
	return append(dst, '}')
}

var grantMembers = [...]string{"issuer", "tenant", "producer", "key", "issued", "expires", "endorsed", "sig"}

func (s *scanner) grant() (*Grant, error) {
	var g Grant
	err := s.members(grantMembers[:], func(name string) (err error) {
		switch name {
		case "issuer":
			g.Issuer, err = s.filled()
		case "tenant":
			g.Tenant = new(string)
			*g.Tenant, err = s.string()
		case "producer":
			g.Producer, err = s.filled()
		case "key":
			g.Key, err = s.filled()
		case "issued":
			g.Issued, err = s.time()
		case "expires":
			g.Expires, err = s.time()
		case "endorsed":
			g.Endorsed, err = s.filled()
		case "sig":
			g.Sig, err = s.filled()
		}
		return err
	})
	return &g, err
}

func (s *scanner) time() (t time.Time, err error) {
	text, err := s.string()
	if err != nil {
		return t, err
	}
	t, reason := parseTime(text)
	if reason != "" {
		return t, s.fail(reason)
	}
	return t.UTC(), nil
}
