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

// TLSFiles are the PEM files of a server: its certificate with those that lead
// to the root behind it, its key, and the certificates that clients' must be
// signed by. Without a certificate the server speaks plain HTTP; without
// ClientCA any client may connect.
type TLSFiles struct{ Cert, Key, ClientCA string }

// Validate reports a combination that cannot be used.
func (f TLSFiles) Validate() error {
	switch {
	case (f.Cert == "") != (f.Key == ""):
		return errors.New("--tls-cert and --tls-key: one is of no use without the other")
	case f.ClientCA != "" && f.Cert == "":
		return errors.New("--tls-client-ca: needs --tls-cert and --tls-key")
	}
	return nil
}

// Config returns the configuration of a server with these files, nil without a
// certificate. New connections get what is in the files when they come: files
// that have changed are read again, and if that fails what was read before goes
// on being used, and the log says so.
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

// load reads the files.
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
		return nil, fmt.Errorf("--tls-client-ca %s: holds no certificate in PEM", f.ClientCA)
	}
	return c, nil
}

// fileStamp tells versions of a file apart.
type fileStamp struct {
	changed time.Time
	size    int64
}

// stamps returns the versions of the files; the zero one for what is not there.
func (f TLSFiles) stamps() (list [3]fileStamp) {
	for i, name := range [...]string{f.Cert, f.Key, f.ClientCA} {
		if info, err := os.Stat(name); name != "" && err == nil {
			list[i] = fileStamp{changed: info.ModTime(), size: info.Size()}
		}
	}
	return list
}

// tlsReloader has the configuration of now.
type tlsReloader struct {
	files  TLSFiles
	logger *slog.Logger

	mu     sync.Mutex // guards what follows
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
		r.logger.ErrorContext(ctx, "certificates were not read again: the old ones stay in use", "error", err)
		return r.config
	}
	r.logger.InfoContext(ctx, "certificates were read again", "file", r.files.Cert)
	r.config = c
	return c
}
