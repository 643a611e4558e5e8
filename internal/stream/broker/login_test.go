package broker_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/hooktrail/hooktrail/internal/stream/broker"
)

type issuer struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{dir: t.TempDir()}
	i.cert, i.key = i.issue(t, "ca")
	return i
}

func (i *issuer) issue(t *testing.T, name string) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	parent, signer := i.cert, i.key
	if parent == nil {
		c.IsCA, c.BasicConstraintsValid = true, true
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{
		i.file(name + ".pem"): {Type: "CERTIFICATE", Bytes: der}, i.file(name + ".key"): {Type: "EC PRIVATE KEY", Bytes: secret},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if c, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return c, key
}

func (i *issuer) file(name string) string { return filepath.Join(i.dir, name) }

func TestLogin_TLS(t *testing.T) {
	ca := newIssuer(t)
	ca.issue(t, "server")
	ca.issue(t, "client")
	pair, err := tls.LoadX509KeyPair(ca.file("server.pem"), ca.file("server.key"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca.cert)
	url := running(t, &server.Options{
		TLS: true, TLSVerify: true, TLSTimeout: 5, Username: "ops", Password: "secret",
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: roots, ClientAuth: tls.RequireAndVerifyClientCert},
	})
	url = strings.Replace(url, "//", "//ops:secret@", 1)
	login := broker.Login{CA: ca.file("ca.pem"), Cert: ca.file("client.pem"), Key: ca.file("client.key")}
	publish(t, open(t, broker.Options{URL: url, Login: login}))
	other := newIssuer(t)
	other.issue(t, "client")
	for name, bad := range map[string]broker.Login{
		"no CA":       {Cert: login.Cert, Key: login.Key},
		"another CA":  {CA: other.file("ca.pem"), Cert: login.Cert, Key: login.Key},
		"no client":   {CA: login.CA},
		"another one": {CA: login.CA, Cert: other.file("client.pem"), Key: other.file("client.key")},
	} {
		if b, err := broker.Open(t.Context(), broker.Options{URL: url, Login: bad, ConnectTimeout: 300 * time.Millisecond}); err == nil {
			closeBroker(t, b)
			t.Errorf("%s: connected", name)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error tells the password: %v", name, err)
		}
	}
}

func TestLogin_Token(t *testing.T) {
	url := running(t, &server.Options{Authorization: "sesame"})
	publish(t, open(t, broker.Options{URL: strings.Replace(url, "//", "//sesame@", 1)}))
	_, err := broker.Open(t.Context(), broker.Options{URL: strings.Replace(url, "//", "//wrong@", 1)})
	if err == nil || strings.Contains(err.Error(), "wrong") {
		t.Errorf("got %v, want a refusal without the token", err)
	}
}

func TestLogin_RefusedLater(t *testing.T) {
	url := running(t, &server.Options{Authorization: "sesame"})
	b := open(t, broker.Options{URL: strings.Replace(url, "//", "//wrong@", 1), Later: true})
	deadline := time.Now().Add(20 * time.Second)
	for {
		text := strings.Join(b.Warnings(), "\n")
		if strings.Contains(text, "Authorization") {
			if strings.Contains(text, "wrong") {
				t.Errorf("the warning tells the token: %s", text)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("warnings: got %q", text)
		}
		runtime.Gosched()
	}
}

func TestLogin_BadFiles(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	for want, login := range map[string]broker.Login{
		"--nats-creds: ":                {Creds: missing},
		"--nats-nkey: ":                 {NKey: missing},
		"--nats-ca: ":                   {CA: missing},
		"--nats-cert: ":                 {Cert: missing, Key: missing},
		"--nats-creds and --nats-nkey:": {Creds: missing, NKey: missing},
		"--nats-cert and --nats-key:":   {Key: missing},
	} {
		_, err := broker.Open(t.Context(), broker.Options{URL: "nats://127.0.0.1:1", Login: login, ConnectTimeout: time.Second})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func running(t *testing.T, opts *server.Options) (url string) {
	t.Helper()
	opts.Host, opts.Port, opts.NoSigs, opts.NoLog = "127.0.0.1", server.RANDOM_PORT, true, true
	opts.JetStream, opts.StoreDir = true, t.TempDir()
	srv, err := server.NewServer(opts)
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() {
		srv.Shutdown()
		srv.WaitForShutdown()
	})
	if !srv.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server did not start")
	}
	return "nats://" + srv.Addr().String()
}
