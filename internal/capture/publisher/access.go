package publisher

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/hooktrail/hooktrail/internal/capture/tokens"
)

// Access is who may send over HTTP, how, and how much: flags of the commands that
// serve it.
type Access struct {
	TokenFile string // [tokens.Path] of the data directory when empty
	TLS       TLSFiles
	Rate      float64 // events per second that each tenant may send; 0 is no limit
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
