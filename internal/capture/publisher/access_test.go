package publisher

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/quota"
	"github.com/hooktrail/hooktrail/internal/capture/tokens"
)

type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(tb testing.TB) *authority {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		tb.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		tb.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return &authority{cert: cert, key: key, pool: pool}
}

// issue writes a certificate with this serial number, and its key, to dir.
func (a *authority) issue(tb testing.TB, dir string, serial int64) (cert, key string) {
	tb.Helper()
	priv, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.cert, priv.Public(), a.key)
	if err != nil {
		tb.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(priv)
	if err != nil {
		tb.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: private}} {
		writeText(tb, name, string(pem.EncodeToMemory(block)))
	}
	return cert, key
}

func (a *authority) client(certs ...tls.Certificate) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, ForceAttemptHTTP2: true,
		TLSClientConfig: &tls.Config{RootCAs: a.pool, Certificates: certs, MinVersion: tls.VersionTLS12},
	}}
}

func serial(t *testing.T, client *http.Client, url string) (number int64, protocol string, err error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	got, err := client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer got.Body.Close()
	return got.TLS.PeerCertificates[0].SerialNumber.Int64(), got.Proto, nil
}

func startTLS(t *testing.T, files TLSFiles) string {
	t.Helper()
	nothing := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	srv, err := Access{TLS: files}.Server(t.Context(), nothing, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- Access{TLS: files}.ServeOn(srv, l) }()
	t.Cleanup(func() {
		srv.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return "https://" + l.Addr().String() + "/livez"
}

// New connections use a replaced certificate. If the new file is broken, the old
// certificate stays in use.
func TestTLS_Reload(t *testing.T) {
	ca, dir := newAuthority(t), t.TempDir()
	cert, key := ca.issue(t, dir, 10)
	url := startTLS(t, TLSFiles{Cert: cert, Key: key})
	check := func(want int64) {
		t.Helper()
		if got, protocol, err := serial(t, ca.client(), url); err != nil || got != want || protocol != "HTTP/2.0" {
			t.Errorf("got certificate %d, %s, %v, want %d over HTTP/2", got, protocol, err, want)
		}
	}
	check(10)
	ca.issue(t, dir, 20)
	check(20)
	writeText(t, cert, "broken")
	check(20)
	ca.issue(t, dir, 30)
	check(30)
}

// With --tls-client-ca, a client needs a certificate of that authority.
func TestTLS_ClientCA(t *testing.T) {
	ca, dir := newAuthority(t), t.TempDir()
	cert, key := ca.issue(t, dir, 1)
	caFile := filepath.Join(dir, "ca.pem")
	writeText(t, caFile, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.cert.Raw})))
	url := startTLS(t, TLSFiles{Cert: cert, Key: key, ClientCA: caFile})
	load := func(cert, key string) tls.Certificate {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		return pair
	}
	if _, _, err := serial(t, ca.client(), url); err == nil {
		t.Error("a client without a certificate was let in")
	}
	if _, _, err := serial(t, ca.client(load(newAuthority(t).issue(t, t.TempDir(), 2))), url); err == nil {
		t.Error("a client of another authority was let in")
	}
	if _, _, err := serial(t, ca.client(load(ca.issue(t, t.TempDir(), 3))), url); err != nil {
		t.Errorf("got %v, want the client let in", err)
	}
}

func TestAccess_Validate(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	for flag, a := range map[string]Access{
		"--tls-key": {TLS: TLSFiles{Cert: "c"}}, "--tls-client-ca": {TLS: TLSFiles{ClientCA: "c"}}, "--rate-limit": {Limits: quota.Limits{Events: -1}},
	} {
		if err := a.Validate(); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("got %v, want it to name %s", err, flag)
		}
	}
	if _, err := (TLSFiles{Cert: missing, Key: missing}).Config(nil); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("got %v, want it to name the file", err)
	}
}

// A server for other machines warns about missing tokens and missing TLS.
func TestAccess_Warn(t *testing.T) {
	dir := t.TempDir()
	for _, want := range []int{2, 1, 0} {
		var a Access
		if want < 2 {
			if _, _, err := tokens.Create(t.Context(), tokens.Path(dir), "acme", ""); err != nil {
				t.Fatal(err)
			}
		}
		if want < 1 {
			a.TLS.Cert = "cert"
		}
		file, err := a.Tokens(dir)
		if err != nil {
			t.Fatal(err)
		}
		var log counter
		a.Warn(t.Context(), slog.New(&log), file)
		if log.warnings != want {
			t.Errorf("got %d warnings, want %d", log.warnings, want)
		}
	}
}

type counter struct {
	slog.Handler

	warnings int
}

func (*counter) Enabled(context.Context, slog.Level) bool { return true }

func (c *counter) Handle(_ context.Context, r slog.Record) error {
	if r.Level == slog.LevelWarn {
		c.warnings++
	}
	return nil
}

func send(h http.Handler, token tokens.Secret, path, contentType, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8080"+path, strings.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token.Reveal())
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}
