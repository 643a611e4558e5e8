package publisher

import (
	"cmp"
	"context"
	"errors"
	"log/slog"

	"github.com/hooktrail/hooktrail/internal/capture/quota"
	"github.com/hooktrail/hooktrail/internal/capture/tokens"
	"github.com/hooktrail/hooktrail/internal/platform/groupsocket"
)

// Access configures which senders may use the HTTP server, and how much they may send.
type Access struct {
	TokenFile string // [tokens.Path] of the data directory if empty
	TLS       TLSFiles
	Socket    groupsocket.Options
	Limits    quota.Limits // of each tenant
}

// Validate reports the first invalid setting.
func (a Access) Validate() error {
	return errors.Join(a.Limits.Validate(), a.TLS.Validate(), a.Socket.Validate())
}

// Tokens opens the file that lists the bearer tokens of clients.
func (a Access) Tokens(dataDir string) (*tokens.File, error) {
	return tokens.Open(cmp.Or(a.TokenFile, tokens.Path(dataDir)))
}

// Warn logs a warning if the server accepts events without tokens or without TLS. Call it for a
// server that other machines can reach.
func (a Access) Warn(ctx context.Context, logger *slog.Logger, file *tokens.File) {
	if !file.Required() {
		logger.WarnContext(ctx, "server accepts events without tokens; publisher token create makes tokens required")
	}
	if a.TLS.Cert == "" {
		logger.WarnContext(ctx, "server accepts events and tokens in plain text; --tls-cert and --tls-key enable encryption")
	}
}
