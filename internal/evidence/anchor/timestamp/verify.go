package timestamp

import (
	"bytes"
	"crypto"
	_ "crypto/sha1" //nolint:gosec // only finds a certificate, whose signature is checked
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"

	tag "golang.org/x/crypto/cryptobyte/asn1"
)

var (
	oidExtKeyUsage = asn1.ObjectIdentifier{2, 5, 29, 37}
	oidRSA         = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 1}
	oidMGF1        = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 8}
	oidPSS         = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 10}
)

type algorithm struct {
	oid    asn1.ObjectIdentifier
	digest crypto.Hash
	is     x509.SignatureAlgorithm
}

// digest is the hash function that the signer states, because some signature algorithms do not name
// one.
var algorithms = []algorithm{ //nolint:gochecknoglobals // a constant
	{oidRSA, crypto.SHA256, x509.SHA256WithRSA},
	{oidRSA, crypto.SHA384, x509.SHA384WithRSA},
	{oidRSA, crypto.SHA512, x509.SHA512WithRSA},
	{asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 11}, crypto.SHA256, x509.SHA256WithRSA},
	{asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 12}, crypto.SHA384, x509.SHA384WithRSA},
	{asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 13}, crypto.SHA512, x509.SHA512WithRSA},
	{oidPSS, crypto.SHA256, x509.SHA256WithRSAPSS},
	{oidPSS, crypto.SHA384, x509.SHA384WithRSAPSS},
	{oidPSS, crypto.SHA512, x509.SHA512WithRSAPSS},
	{asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 2}, crypto.SHA256, x509.ECDSAWithSHA256},
	{asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 3}, crypto.SHA384, x509.ECDSAWithSHA384},
	{asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 4}, crypto.SHA512, x509.ECDSAWithSHA512},
	{asn1.ObjectIdentifier{1, 3, 101, 112}, crypto.SHA512, x509.PureEd25519},
}

// Roots reads the trusted certificates from PEM. Other blocks are an error, because the user may
// have named the wrong file.
func Roots(text []byte) (*x509.CertPool, error) {
	pool, n := x509.NewCertPool(), 0
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("it has a PEM block %q: only certificates are expected", block.Type)
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d: %w", n+1, err)
		}
		pool.AddCert(c)
		n++
	}
	if n == 0 {
		return nil, errors.New("it has no certificate in PEM")
	}
	return pool, nil
}

// CheckSignature checks the signature of the token and returns the signer's certificate. It does
// not check who issued the certificate.
func (t *Token) CheckSignature() (*x509.Certificate, error) {
	s := t.signer
	if err := s.checkContent(t.content); err != nil {
		return nil, err
	}
	cert, err := t.signingCert()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(algorithms, func(a algorithm) bool {
		return a.oid.Equal(s.algorithm) && a.digest == s.digest
	})
	if i < 0 {
		return nil, fmt.Errorf("the signature algorithm %s with %s is not accepted", s.algorithm, s.digest)
	}
	if err := cert.CheckSignature(algorithms[i].is, s.signed, s.signature); err != nil {
		return nil, fmt.Errorf("the signature of the token is wrong: %w", err)
	}
	return cert, checkPurpose(cert)
}

func (s signerInfo) checkContent(content []byte) error {
	kind := newDER(s.attributes[oidContentType.String()])
	oid := kind.oid()
	if kind.end(); *kind.bad || !oid.Equal(oidTSTInfo) {
		return errors.New("the signed attribute content-type does not name a time stamp")
	}
	value := newDER(s.attributes[oidMessageDigest.String()])
	digest := value.enterOnly(tag.OCTET_STRING)
	h := s.digest.New()
	h.Write(content)
	if *value.bad || !bytes.Equal(digest.in, h.Sum(nil)) {
		return errors.New("the content of the token is not the signed one")
	}
	return nil
}

// signingCert returns the certificate in the signed attribute signing-certificate (RFC 5035, RFC
// 5816).
func (t *Token) signingCert() (*x509.Certificate, error) {
	hash, want, err := t.signer.certHash()
	if err != nil {
		return nil, err
	}
	for _, c := range t.certs {
		if bytes.Equal(hash(c.Raw), want) {
			if !t.signer.names(c) {
				return nil, errors.New("the signature names another certificate than the attribute signing-certificate")
			}
			return c, nil
		}
	}
	return nil, errors.New("the token lacks the certificate of its signer")
}

func (s signerInfo) certHash() (hash func([]byte) []byte, want []byte, err error) {
	value, v2 := s.attributes[oidSigningCertV2.String()]
	if !v2 {
		value = s.attributes[oidSigningCert.String()]
	}
	if value == nil {
		return nil, nil, errors.New("the signed attribute signing-certificate is missing")
	}
	in := newDER(value)
	outer := in.enterOnly(tag.SEQUENCE)
	list := outer.enter(tag.SEQUENCE)
	first := list.enter(tag.SEQUENCE)
	digest := crypto.SHA256
	switch {
	case !v2:
		digest = crypto.SHA1 // the only hash of RFC 2634; only to find the certificate
	case first.has(tag.SEQUENCE):
		if digest, err = hashOf(first.enter(tag.SEQUENCE)); err != nil {
			return nil, nil, err
		}
	}
	if want = first.bytes(tag.OCTET_STRING); *in.bad {
		return nil, nil, errors.New("the signed attribute signing-certificate names no certificate")
	}
	return func(data []byte) []byte {
		h := digest.New()
		h.Write(data)
		return h.Sum(nil)
	}, want, nil
}

func (s signerInfo) names(c *x509.Certificate) bool {
	if s.keyID != nil {
		return bytes.Equal(s.keyID, c.SubjectKeyId)
	}
	serial, err := asn1.Marshal(c.SerialNumber)
	if err != nil {
		return false
	}
	in := newDER(serial)
	return bytes.Equal(in.bytes(tag.INTEGER), s.serial) && bytes.Equal(c.RawIssuer, s.issuer)
}

// RFC 3161, 2.3 requires that time stamping is the certificate's only purpose.
func checkPurpose(c *x509.Certificate) error {
	i := slices.IndexFunc(c.Extensions, func(e pkix.Extension) bool { return e.Id.Equal(oidExtKeyUsage) })
	if i < 0 || !c.Extensions[i].Critical || !slices.Equal(c.ExtKeyUsage, []x509.ExtKeyUsage{x509.ExtKeyUsageTimeStamping}) || len(c.UnknownExtKeyUsage) > 0 {
		return errors.New("the certificate of the signer is not for time stamping alone (critical extended key usage timeStamping)")
	}
	if c.KeyUsage != 0 && c.KeyUsage&(x509.KeyUsageDigitalSignature|x509.KeyUsageContentCommitment) == 0 {
		return errors.New("the certificate of the signer is not for signatures")
	}
	return nil
}

// Verify checks the signature of the token and returns the name of the TSA. The certificate must
// have been valid at the time of the token.
func (t *Token) Verify(roots *x509.CertPool) (by string, err error) {
	cert, err := t.CheckSignature()
	if err != nil {
		return "", err
	}
	others := x509.NewCertPool()
	for _, c := range t.certs {
		others.AddCert(c)
	}
	if _, err = cert.Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: others, CurrentTime: t.Time, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageTimeStamping},
	}); err != nil {
		return "", fmt.Errorf("the certificate of the signer is not trusted at the time of the token: %w", err)
	}
	return cert.Subject.String(), nil
}
