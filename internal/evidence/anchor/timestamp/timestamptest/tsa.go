// Package timestamptest runs time stamp authorities for tests. They use openssl instead of the
// tested code.
package timestamptest

import (
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

// TSA is a time stamp authority that listens on the loopback interface.
type TSA struct {
	URL   string
	Roots string // path of the CA certificate in PEM

	dir    string
	hits   atomic.Int64
	mu     sync.Mutex // guards answer and the files of openssl
	answer http.HandlerFunc
}

// Has reports whether openssl is installed. If HOOKTRAIL_TEST_REQUIRE is 1 and it is missing, the
// test fails.
func Has(tb testing.TB) bool {
	tb.Helper()
	_, err := exec.LookPath("openssl")
	if err != nil && os.Getenv("HOOKTRAIL_TEST_REQUIRE") == "1" {
		tb.Fatal("openssl is missing: install openssl")
	}
	return err == nil
}

// New starts a TSA with its CA, or skips the test if openssl is missing.
func New(tb testing.TB, o Options) *TSA {
	tb.Helper()
	if !Has(tb) {
		tb.Skip("openssl is missing: install openssl")
	}
	a := &TSA{dir: tb.TempDir()}
	a.Roots = filepath.Join(a.dir, "ca.pem")
	o = o.withDefaults()
	o.write(tb, a.dir)
	put(tb, filepath.Join(a.dir, "tsa.cnf"), fmt.Appendf(nil, `[tsa]
default_tsa = cfg
[cfg]
serial = %s/serial
crypto_device = builtin
signer_cert = %[1]s/tsa.pem
signer_key = %[1]s/tsa.key
certs = %[1]s/ca.pem
signer_digest = %s
default_policy = 1.2.3.4.1
digests = sha256, sha384, sha512
accuracy = secs:1, millisecs:500
ess_cert_id_chain = no
ess_cert_id_alg = %s
`, a.dir, o.Digest, o.ESS))
	put(tb, filepath.Join(a.dir, "serial"), []byte("01\n"))
	server := httptest.NewServer(http.HandlerFunc(a.serve))
	tb.Cleanup(server.Close)
	a.URL = server.URL
	return a
}

// Hits returns the number of requests that the TSA has received so far.
func (a *TSA) Hits() int64 { return a.hits.Load() }

// Answer makes h answer all requests instead of the TSA. Answer(nil) restores the TSA.
func (a *TSA) Answer(h http.HandlerFunc) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answer = h
}

func (a *TSA) serve(rw http.ResponseWriter, req *http.Request) {
	a.hits.Add(1)
	a.mu.Lock()
	h := a.answer
	a.mu.Unlock()
	if h != nil {
		h(rw, req)
		return
	}
	query, err := io.ReadAll(req.Body)
	if err == nil && req.Header.Get("Content-Type") != "application/timestamp-query" {
		err = fmt.Errorf("type %q", req.Header.Get("Content-Type"))
	}
	var answer []byte
	if err == nil {
		answer, err = a.Reply(query)
	}
	if err != nil {
		http.Error(rw, err.Error(), http.StatusInternalServerError)
		return
	}
	rw.Header().Set("Content-Type", "application/timestamp-reply")
	_, _ = rw.Write(answer)
}

// Reply answers a request with openssl ts.
func (a *TSA) Reply(query []byte) ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	in, out := filepath.Join(a.dir, "query"), filepath.Join(a.dir, "reply")
	if err := os.WriteFile(in, query, 0o600); err != nil {
		return nil, err
	}
	cmd := exec.Command("openssl", "ts", "-reply", "-config", filepath.Join(a.dir, "tsa.cnf"), "-queryfile", in, "-out", out)
	cmd.Env = append(os.Environ(), "OPENSSL_CONF=/dev/null")
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("openssl ts: %w: %s", err, text)
	}
	return os.ReadFile(out)
}

// Pool returns the roots of the TSA.
func (a *TSA) Pool(tb testing.TB) *x509.CertPool {
	tb.Helper()
	text, err := os.ReadFile(a.Roots)
	if err != nil {
		tb.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return pool
}
