package auditor

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/evidence/bundle"
	"github.com/hooktrail/hooktrail/internal/evidence/siem"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/filelock"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type streamFlags struct {
	purpose

	to, format, position, ca string
	once                     bool
}

func streamCommand(shared *cli.Shared) *cobra.Command {
	var s streamFlags
	cmd := &cobra.Command{
		Use:   "stream [--to URL] [--format FORMAT]",
		Short: "Send the records of a ledger to a SIEM as they arrive",
		Long: `Follow the ledger of a tenant and send each record once it is signed, in the order of
the ledger, until a signal arrives.

  -                  lines of JSON to stdout (the default)
  file:PATH          lines of JSON at the end of a file
  tcp://HOST:PORT    syslog (RFC 5424) over TCP with octet counting (RFC 6587)
  tls://HOST:PORT    syslog over TLS (RFC 5425)
  udp://HOST:PORT    syslog over UDP; with --format ocsf only, because of its short lines

The formats are jsonl and ocsf, as in auditor export. A file keeps the position of the
last delivered record, so that the next start continues behind it. After a failure the
records that are not known to be delivered are sent again, so each is delivered at
least once, except with UDP. A receiver that is away is tried again, and delays neither
the auditor nor the ledger.

The start is recorded first; see auditor access.`,
		Example: `  auditor stream --tenant acme --format ocsf --to tls://siem:6514 --tls-ca siem.pem
  auditor stream --tenant acme --to file:/var/log/hooktrail-acme.jsonl
  auditor stream --tenant acme --once | jq .kind`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd, shared) },
	}
	flags := cmd.Flags()
	s.register(flags)
	flags.StringVar(&s.to, "to", "-", "`URL` of the receiver")
	flags.StringVar(&s.format, "format", string(bundle.JSONL), "`format`: jsonl or ocsf")
	cli.OwnVariable(cmd, "format", "stream-format", "jsonl", "ocsf")
	_ = cmd.RegisterFlagCompletionFunc("format", shared.Completion(cli.Words("jsonl", "ocsf")))
	flags.StringVar(&s.position, "position", "", "`file` with the position; default is one per tenant and receiver in the data directory")
	flags.StringVar(&s.ca, "tls-ca", "", "`file` with the certificates to trust; default is those of the system")
	flags.BoolVar(&s.once, "once", false, "exit at the end of the ledger")
	cli.Variable(cmd, "to")
	return cmd
}

func (s streamFlags) run(cmd *cobra.Command, shared *cli.Shared) (err error) {
	o := siem.Options{Format: bundle.Format(s.format), Position: s.position, Once: s.once, Logger: shared.Logger(cmd)}
	if o.Open, err = s.sink(cmd.OutOrStdout(), o.Logger); err != nil {
		return err
	}
	if o.Position == "" {
		if o.Position, err = s.defaultPosition(shared); err != nil {
			return err
		}
	}
	lock, err := filelock.Try(o.Position + ".lock")
	if errors.Is(err, filelock.ErrHeld) {
		err = fmt.Errorf("another process streams with the position %s", o.Position)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	use := s.access(events.AuditStream, events.AuditSelection{})
	use.As = s.format + " to " + s.to
	if o.Ledger, err = openRecorded(cmd, shared, "", use); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Ledger.Close()) }()
	return siem.Follow(cmd.Context(), o)
}

func (s streamFlags) defaultPosition(shared *cli.Shared) (string, error) {
	token, err := subjects.Token(shared.TenantOrDefault())
	if err != nil {
		return "", cli.Usage("%w", err)
	}
	dir := filepath.Join(shared.DataDir, "siem")
	of := sha256.Sum256([]byte(s.to))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("folder of positions: %w: name a file that you may write with --position", err)
	}
	return filepath.Join(dir, token+"-"+hex.EncodeToString(of[:4])+".position"), nil
}

func (s streamFlags) sink(stdout io.Writer, logger *slog.Logger) (func(context.Context) (siem.Sink, error), error) {
	if f := bundle.Format(s.format); f != bundle.JSONL && f != bundle.OCSF {
		return nil, cli.Usage("--format: %q is not one of jsonl and ocsf", s.format)
	}
	if s.to == "-" {
		return siem.Lines(stdout), nil
	}
	u, err := url.Parse(s.to)
	if err != nil {
		return nil, cli.Usage("--to: %w", err)
	}
	if u.Scheme == "file" && u.Opaque+u.Path != "" {
		return siem.File(u.Opaque + u.Path), nil
	}
	return s.syslog(u, logger)
}

func (s streamFlags) syslog(u *url.URL, logger *slog.Logger) (func(context.Context) (siem.Sink, error), error) {
	transport := siem.Transport(u.Scheme)
	switch {
	case transport != siem.TCP && transport != siem.TLS && transport != siem.UDP, u.Path != "", u.User != nil:
		return nil, cli.Usage("--to: %q is not -, file:PATH, tcp://HOST:PORT, tls://HOST:PORT or udp://HOST:PORT", s.to)
	case transport == siem.UDP && s.format != string(bundle.OCSF):
		return nil, cli.Usage("--to: a record may be too long for UDP: add --format ocsf, or use tcp://")
	}
	if _, _, err := net.SplitHostPort(u.Host); err != nil {
		return nil, cli.Usage("--to: %w", err)
	}
	config := &tls.Config{ServerName: u.Hostname(), MinVersion: tls.VersionTLS12}
	if s.ca != "" {
		pem, err := os.ReadFile(s.ca)
		if err != nil {
			return nil, fmt.Errorf("--tls-ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, cli.Usage("--tls-ca: %s has no certificate in PEM form", s.ca)
		}
	}
	return siem.Syslog(transport, u.Host, config, logger), nil
}
