package publisher

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/capture/tokens"
)

// Access is who may send over HTTP, how, and how much: flags of the commands that
// serve it.
type Access struct {
	TokenFile string // [tokens.Path] of the data directory when empty
	TLS       TLSFiles
	Rate      float64 // events per second that each tenant may send; 0 is no limit
}

// Register adds the flags to cmd.
func (a *Access) Register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&a.TokenFile, "tokens", "", "`file` of tokens, without which nobody is let in once it exists; keys/http-tokens.json of the data directory if empty")
	flags.StringVar(&a.TLS.Cert, "tls-cert", "", "PEM `file` with the server's certificate: HTTPS; read again when it changes")
	flags.StringVar(&a.TLS.Key, "tls-key", "", "PEM `file` with the key of --tls-cert")
	flags.StringVar(&a.TLS.ClientCA, "tls-client-ca", "", "PEM `file` with what clients' certificates must be signed by; without it they need none")
	flags.Float64Var(&a.Rate, "rate-limit", 0, "`events` per second that each tenant may send; 0 is no limit")
}

// Validate reports the first setting that cannot be used.
func (a Access) Validate() error {
	if !(a.Rate >= 0) {
		return errors.New("--rate-limit: cannot be negative")
	}
	return a.TLS.Validate()
}

// Tokens returns the tokens by which senders are known.
func (a Access) Tokens(dataDir string) (*tokens.File, error) {
	path := a.TokenFile
	if path == "" {
		path = tokens.Path(dataDir)
	}
	return tokens.Open(path)
}

// Warn logs what a server that takes events from other machines does without.
func (a Access) Warn(ctx context.Context, logger *slog.Logger, file *tokens.File) {
	if !file.Required() {
		logger.WarnContext(ctx, "whoever reaches this address may write into the audit trail: publisher token create makes tokens, which are required from then on")
	}
	if a.TLS.Cert == "" {
		logger.WarnContext(ctx, "events and tokens travel in plain text: --tls-cert and --tls-key encrypt them")
	}
}

// Secure makes server speak TLS if there is a certificate.
func (a Access) Secure(server *http.Server, logger *slog.Logger) (err error) {
	server.TLSConfig, err = a.TLS.Config(logger)
	return err
}
