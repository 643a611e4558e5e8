package snippets

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor/timestamp/timestamptest"
	"github.com/hooktrail/hooktrail/internal/evidence/anchor/witness/witnesstest"
)

// outside starts the servers of others that a page names: a receiver of a SIEM,
// witnesses and a time stamp authority. Their certificate is in the files that the page names.
func outside(t *testing.T, page string) {
	t.Helper()
	certificate := newCertificate(t)
	siem := listen(t, certificate, ":6514")
	go func() {
		for {
			conn, err := siem.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(io.Discard, conn) }()
		}
	}()
	if page != "docs/keys.md" {
		return
	}
	tsa := timestamptest.New(t, timestamptest.Options{})
	roots, err := os.ReadFile(tsa.Roots)
	if err == nil {
		err = os.WriteFile(filepath.Join(home, "tsa-ca.pem"), roots, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	hosts := witnesses(t)
	hosts["tsa.example"] = tsa.URL
	proxy := &http.Server{ReadHeaderTimeout: limit, Handler: &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		to, err := url.Parse(hosts[r.In.Host])
		if err != nil {
			t.Error(err)
			return
		}
		r.Out.URL.Scheme, r.Out.URL.Host = to.Scheme, to.Host
		r.Out.URL.Path = to.Path + strings.TrimPrefix(r.In.URL.Path, to.Path)
	}}}
	listener := listen(t, certificate, ":443")
	go func() {
		if err := proxy.Serve(listener); !errors.Is(err, net.ErrClosed) {
			t.Errorf("the proxy ended: %v", err)
		}
	}()
}

var shortKey = regexp.MustCompile(`(?m)^(witness \S+ ([^+\s]+)\S*)`)

// witnesses starts the witnesses of the policy in docs/keys.md, and writes that policy with their
// keys. It returns the address behind each host.
func witnesses(t *testing.T) map[string]string {
	t.Helper()
	key, err := os.ReadFile(filepath.Join(home, "ledger.pub"))
	if err != nil {
		t.Fatal(err)
	}
	behind := map[string]string{}
	for _, b := range blocks(t, "/src", "docs/keys.md") {
		if !strings.HasPrefix(b.text, "witness ") {
			continue
		}
		policy := shortKey.ReplaceAllStringFunc(b.text, func(line string) string {
			m := shortKey.FindStringSubmatch(line)
			w := witnesstest.New(t, m[2])
			w.Watch(t, "hooktrail/acme", string(key))
			host, _, _ := strings.Cut(m[2], "/")
			behind[host] = w.URL
			return strings.Join(append(strings.Fields(m[1])[:2], w.VerifierKey), " ")
		})
		if err := os.WriteFile(filepath.Join(home, "witnesses.policy"), []byte(policy), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return behind
}

func listen(t *testing.T, certificate tls.Certificate, address string) net.Listener {
	t.Helper()
	l, err := tls.Listen("tcp", address, &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// newCertificate makes a certificate for all hosts, which the system of the world trusts.
func newCertificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "snippets"}, DNSNames: strings.Fields(hosts)[1:],
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	private := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
	for _, name := range []string{"siem.pem", "cert.pem", "/etc/nats/server.pem"} {
		err = errors.Join(err, os.WriteFile(name, public, 0o600))
	}
	for _, name := range []string{"key.pem", "/etc/nats/server.key"} {
		err = errors.Join(err, os.WriteFile(name, private, 0o600))
	}
	t.Setenv("SSL_CERT_FILE", filepath.Join(home, "cert.pem"))
	certificate, err2 := tls.X509KeyPair(public, private)
	if err = errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	return certificate
}
