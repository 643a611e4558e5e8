package timestamptest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// Extended key usages of certificates.
var (
	TimeStamping = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3, 8}
	CodeSigning  = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3, 3}
)

// Options change the certificates of a TSA.
type Options struct {
	Name     string                  // common name; "Test TSA" by default
	Purposes []asn1.ObjectIdentifier // time stamping by default
	Lax      bool                    // the key usage extension is not critical
	From, To time.Time               // validity of the certificate; by default for a day
	RSA      bool                    // an RSA key instead of ECDSA
	Digest   string                  // digest of the signature, sha256 by default
	ESS      string                  // digest in signing-certificate; sha256 by default
	KeyUsage x509.KeyUsage           // digital signature by default
}

func (o Options) withDefaults() Options {
	now := time.Now()
	if o.From.IsZero() {
		o.From = now.Add(-time.Hour)
	}
	if o.To.IsZero() {
		o.To = now.Add(24 * time.Hour)
	}
	if o.Name == "" {
		o.Name = "Test TSA"
	}
	if o.Purposes == nil {
		o.Purposes = []asn1.ObjectIdentifier{TimeStamping}
	}
	if o.KeyUsage == 0 {
		o.KeyUsage = x509.KeyUsageDigitalSignature
	}
	if o.Digest == "" {
		o.Digest = "sha256"
	}
	if o.ESS == "" {
		o.ESS = "sha256"
	}
	return o
}

func (o Options) newKey(tb testing.TB) crypto.Signer {
	tb.Helper()
	var key crypto.Signer
	var err error
	if o.RSA {
		key, err = rsa.GenerateKey(rand.Reader, 2048)
	} else {
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

func (o Options) write(tb testing.TB, dir string) {
	tb.Helper()
	purposes, err := asn1.Marshal(o.Purposes)
	if err != nil {
		tb.Fatal(err)
	}
	caKey, key := o.newKey(tb), o.newKey(tb)
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: o.Name + " CA"},
		NotBefore: o.From.Add(-time.Hour), NotAfter: o.To.Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(4711), Subject: pkix.Name{CommonName: o.Name, Organization: []string{"Example"}},
		NotBefore: o.From, NotAfter: o.To, KeyUsage: o.KeyUsage, SubjectKeyId: []byte("the key of the TSA"),
		ExtraExtensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 37}, Critical: !o.Lax, Value: purposes}},
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		tb.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		"ca.pem":  {Type: "CERTIFICATE", Bytes: signed(tb, ca, ca, caKey, caKey)},
		"tsa.pem": {Type: "CERTIFICATE", Bytes: signed(tb, leaf, ca, key, caKey)},
		"tsa.key": {Type: "PRIVATE KEY", Bytes: keyDER},
	} {
		put(tb, filepath.Join(dir, name), pem.EncodeToMemory(block))
	}
}

func signed(tb testing.TB, c, by *x509.Certificate, key, byKey crypto.Signer) []byte {
	tb.Helper()
	der, err := x509.CreateCertificate(rand.Reader, c, by, key.Public(), byKey)
	if err != nil {
		tb.Fatal(err)
	}
	return der
}

// Sign signs content as the TSA signs a token. It uses "openssl cms", which also signs with a
// certificate that is not meant for time stamps.
func (a *TSA) Sign(tb testing.TB, content []byte, more ...string) []byte {
	tb.Helper()
	in, out := filepath.Join(a.dir, "content"), filepath.Join(a.dir, "signed")
	put(tb, in, content)
	if !slices.Contains(more, "-econtent_type") {
		more = append(more, "-econtent_type", "1.2.840.113549.1.9.16.1.4")
	}
	cmd := exec.CommandContext(tb.Context(), "openssl", append([]string{
		"cms", "-sign", "-binary", "-nodetach", "-nosmimecap", "-md", "sha256",
		"-signer", filepath.Join(a.dir, "tsa.pem"), "-inkey", filepath.Join(a.dir, "tsa.key"),
		"-in", in, "-outform", "DER", "-out", out,
	}, more...)...)
	if text, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("openssl cms: %v: %s", err, text)
	}
	der, err := os.ReadFile(out)
	if err != nil {
		tb.Fatal(err)
	}
	return der
}

// Certificate returns the path of the TSA's certificate in PEM.
func (a *TSA) Certificate() string { return filepath.Join(a.dir, "tsa.pem") }

func put(tb testing.TB, path string, data []byte) {
	tb.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		tb.Fatal(err)
	}
}

// Key returns the path of the TSA's private key.
func (a *TSA) Key() string { return filepath.Join(a.dir, "tsa.key") }
