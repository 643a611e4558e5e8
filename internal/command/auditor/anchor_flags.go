package auditor

import (
	"net"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

const signerUsage = "`place` of the signing key: file, ssh-agent or ssh-agent:FINGERPRINT; the default is its present place, or a file for a new key"

// AnchorFlags are the flags for the signing key, the anchors and the tile server.
type AnchorFlags struct {
	file   anchor.File
	bucket bool
	policy string
	tiles  string
	known  knownLedgers
	signer string
}

// Register adds the flags to cmd.
func (p *AnchorFlags) Register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar((*string)(&p.file), "checkpoint-file", "", anchor.FileUsage)
	flags.BoolVar(&p.bucket, "checkpoint-bucket", true, "store the newest checkpoints in the broker's bucket too")
	flags.StringVar(&p.signer, "signer", "", signerUsage)
	flags.StringVar(&p.policy, "witness-policy", "", anchor.PolicyUsage)
	p.known.register(flags)
	flags.StringVar(&p.tiles, "tiles-listen", "",
		"`address` on which to serve the leaves of the ledgers as tlog-tiles, without payloads")
}

// Apply copies the flags to o, whose Tenant the caller has set, and reads the witness policy. An
// invalid value is a usage error.
func (p *AnchorFlags) Apply(o *auditor.Options) (err error) {
	if err := p.file.Validate(o.Tenant); err != nil {
		return cli.Usage("%w", err)
	}
	if p.tiles != "" {
		if _, _, err := net.SplitHostPort(p.tiles); err != nil {
			return cli.Usage("--tiles-listen: %w", err)
		}
	}
	if p.signer != "" {
		if _, err := writer.ParsePlace(p.signer); err != nil {
			return cli.Usage("--signer: %w", err)
		}
	}
	if p.policy != "" {
		if o.Witnesses, err = anchor.ReadPolicy(p.policy); err != nil {
			return err
		}
	}
	o.CheckpointFile, o.NoBucket, o.TilesListen, o.Signer = p.file, !p.bucket, p.tiles, p.signer
	if o.KnownLedgers, err = p.known.path(); err != nil {
		o.KnownLedgers = "" // a service user may have no home directory
	}
	return nil
}
