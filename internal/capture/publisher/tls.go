package publisher

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// TLSFiles contains the paths of a server's PEM files. If Cert is empty, the server uses plain
// HTTP. If ClientCA is empty, clients need no certificate.
type TLSFiles struct{ Cert, Key, ClientCA string }

// Validate reports an invalid combination of files.
func (f TLSFiles) Validate() error {
	switch {
	case (f.Cert == "") != (f.Key == ""):
		return errors.New("--tls-cert and --tls-key: each requires the other")
	case f.ClientCA != "" && f.Cert == "":
		return errors.New("--tls-client-ca: requires --tls-cert and --tls-key")
	}
	return nil
}

// Config returns the TLS configuration, or nil if there is no certificate. The server uses renewed
// certificates without a restart.
func (f TLSFiles) Config(logger *slog.Logger) (*tls.Config, error) {
	if f.Cert == "" {
		return nil, nil //nolint:nilnil // no files, no TLS
	}
	r := &tlsReloader{files: f, logger: logger, seen: f.stamps()}
	var err error
	if r.config, err = f.load(); err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			return r.current(hello.Context()), nil
		},
	}, nil
}

func (f TLSFiles) load() (*tls.Config, error) {
	cert, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert %s, --tls-key %s: %w", f.Cert, f.Key, err)
	}
	c := &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2", "http/1.1"},
	}
	if f.ClientCA == "" {
		return c, nil
	}
	pem, err := os.ReadFile(f.ClientCA)
	if err != nil {
		return nil, fmt.Errorf("--tls-client-ca: %w", err)
	}
	c.ClientCAs, c.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !c.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("--tls-client-ca %s: contains no PEM certificate", f.ClientCA)
	}
	return c, nil
}

type fileStamp struct {
	changed time.Time
	size    int64
}

func (f TLSFiles) stamps() (list [3]fileStamp) {
	for i, name := range [...]string{f.Cert, f.Key, f.ClientCA} {
		if info, err := os.Stat(name); name != "" && err == nil {
			list[i] = fileStamp{changed: info.ModTime(), size: info.Size()}
		}
	}
	return list
}

type tlsReloader struct {
	files  TLSFiles
	logger *slog.Logger

	mu     sync.Mutex // guards seen and config
	seen   [3]fileStamp
	config *tls.Config
}

func (r *tlsReloader) current(ctx context.Context) *tls.Config {
	now := r.files.stamps()
	r.mu.Lock()
	defer r.mu.Unlock()
	if now == r.seen {
		return r.config
	}
	r.seen = now
	c, err := r.files.load()
	if err != nil {
		r.logger.ErrorContext(ctx, "certificates not reloaded, old ones stay in use", "error", err)
		return r.config
	}
	r.logger.InfoContext(ctx, "certificates reloaded", "file", r.files.Cert)
	r.config = c
	return c
}
