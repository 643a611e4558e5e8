package publisher

import (
	"context"
	"log/slog"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hooktrail/hooktrail/internal/capture/decision"
	"github.com/hooktrail/hooktrail/internal/capture/publisher"
	"github.com/hooktrail/hooktrail/internal/capture/quota"
	"github.com/hooktrail/hooktrail/internal/platform/groupsocket"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/hookfile"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// RegisterAccess adds the flags for a to cmd.
func RegisterAccess(cmd *cobra.Command, a *publisher.Access) {
	flags := cmd.Flags()
	flags.StringVar(&a.TokenFile, "tokens", "", "token `file`; once it exists, senders need a token; keys/http-tokens.json in the data directory if empty")
	flags.StringVar(&a.TLS.Cert, "tls-cert", "", "PEM `file` with the server certificate; enables HTTPS; reloaded when it changes")
	flags.StringVar(&a.TLS.Key, "tls-key", "", "PEM `file` with the key of --tls-cert")
	flags.StringVar(&a.TLS.ClientCA, "tls-client-ca", "", "PEM `file` with the authorities of client certificates; without it clients need none")
	flags.StringVar(&a.Socket.Path, "socket", "", "`path` of a Unix socket for hook commands of other users, who use --publisher unix://PATH; its events name the user that sent them")
	flags.StringVar(&a.Socket.Group, "socket-group", "", "`group` whose users may connect to --socket")
	flags.StringVar(&a.Socket.Mode, "socket-mode", groupsocket.DefaultMode, "`mode` of --socket; 0666 lets every local user connect")
	limits := quota.Default()
	flags.Float64Var(&a.Limits.Events, "rate-limit", limits.Events, "`events` per second that each tenant may send; 0 is no limit")
	flags.Float64Var(&a.Limits.Bytes, "rate-bytes", limits.Bytes, "`bytes` of payload per second that each tenant may send; 0 is no limit")
	flags.Float64Var(&a.Limits.Runs, "rate-runs", limits.Runs, "`runs` per second that each tenant may begin; 0 is no limit")
	flags.DurationVar(&a.Limits.Burst, "rate-burst", limits.Burst, "`time` whose limits a tenant may use at once")
	flags.StringToIntVar(&a.Limits.Factors, "rate-factor", nil, "`TENANT=FACTOR` multiplies the limits of a tenant; 0 lifts them; several are separated by commas")
}

// RegisterHeartbeat adds the flag --heartbeat.
func RegisterHeartbeat(flags *pflag.FlagSet, interval *time.Duration) {
	flags.DurationVar(interval, "heartbeat", 10*time.Minute,
		"announced interval in which an outbox signs a manifest while it is open, also without events; verify reports one that is silent for three of them; -1s announces nothing")
}

// Redaction is the flag --no-redact of commands that accept events.
type Redaction struct{ off bool }

// Register adds the flag to cmd.
func (r *Redaction) Register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&r.off, "no-redact", false, "store secrets and personal data unchanged")
}

// Redactor returns the redactor for new events. It is nil, which selects all rules of pkg/redact.
// With the flag --no-redact, it is a redactor that changes nothing.
func (r *Redaction) Redactor() publish.Redactor {
	if r.off {
		return publish.NoRedaction
	}
	return nil
}

// HookFile is the flag --hooks of commands that decide about tool calls.
type HookFile struct{ path string }

// Register adds the flag to cmd.
func (f *HookFile) Register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.path, "hooks", "", "`file` with the hooks that decide at POST /v1/decisions and over NATS; without it nothing is decided")
}

// Load reads and checks the hooks file, or returns nil without --hooks.
func (f *HookFile) Load(ctx context.Context, logger *slog.Logger) (*hookfile.File, error) {
	if f.path == "" {
		return nil, nil //nolint:nilnil // no file, no hooks
	}
	file, err := hookfile.Load(f.path)
	if err != nil {
		return nil, err
	}
	if err := file.CheckPrograms(); err != nil {
		return nil, err
	}
	var client decision.Client // registering hooks needs no connection, because it sends no request
	if err := file.Register(hooks.NewRegistry(hooks.Options{}), hookfile.Options{Requester: client, Own: client.Own}); err != nil {
		return nil, err
	}
	warn(ctx, logger, file)
	return file, nil
}

func warn(ctx context.Context, logger *slog.Logger, file *hookfile.File) {
	for _, p := range file.Warnings {
		logger.WarnContext(ctx, "hooks file has a questionable entry", "file", p.File, "line", p.Line, "column", p.Column, "problem", p.Message)
	}
}

type fullPolicy struct{ to **publish.FullPolicy }

// String returns the name of the policy.
func (f fullPolicy) String() string {
	if f.to == nil || *f.to == nil {
		return publish.Fail.String()
	}
	return (*f.to).String()
}

// Set parses the name of a policy.
func (f fullPolicy) Set(name string) error {
	p, err := publish.ParseFullPolicy(name)
	*f.to = &p
	return err
}

// Type returns the name of the value for help texts.
func (f fullPolicy) Type() string { return "policy" }
