package auditor

import (
	"net"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor"
	"github.com/hooktrail/hooktrail/internal/evidence/anchor/timestamp"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

const signerUsage = "`place` of the signing key: file, ssh-agent or ssh-agent:FINGERPRINT; the default is its present place, or a file for a new key"

// AnchorFlags are the flags for the signing key, the tile server and the anchors. An anchor is a
// place outside the data directory, such as a witness, that confirms the ledger.
type AnchorFlags struct {
	file   anchor.File
	bucket bool
	policy string
	tiles  string
	known  knownLedgers
	signer string

	tsa        string
	timestamps anchor.Timestamps
}

// Register adds the flags to cmd.
func (p *AnchorFlags) Register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar((*string)(&p.file), "checkpoint-file", "", anchor.FileUsage)
	flags.BoolVar(&p.bucket, "checkpoint-bucket", true, "store the newest checkpoints in the broker's bucket too")
	flags.StringVar(&p.signer, "signer", "", signerUsage)
	flags.StringVar(&p.policy, "witness-policy", "", anchor.PolicyUsage)
	flags.StringVar(&p.tsa, "timestamp-url", "", "`address` of a time stamp authority (RFC 3161) that stamps the newest checkpoints")
	flags.DurationVar(&p.timestamps.Interval, "timestamp-interval", anchor.DefaultTimestampInterval,
		"shortest time between two time stamps of one ledger")
	p.known.register(flags)
	flags.StringVar(&p.tiles, "tiles-listen", "",
		"`address` on which to serve the leaves of the ledgers as tlog-tiles, without payloads")
}

// Apply copies the flags to o. Set o.Tenant before. An invalid value is a usage error.
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
	if err := p.applyTimestamps(o); err != nil {
		return err
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

func (p *AnchorFlags) applyTimestamps(o *auditor.Options) (err error) {
	if p.tsa == "" {
		return nil
	}
	o.Timestamps = p.timestamps
	if o.Timestamps.URL, err = timestamp.ParseURL(p.tsa); err != nil {
		return cli.Usage("--timestamp-url: %w", err)
	}
	if err := o.Timestamps.Validate(); err != nil {
		return cli.Usage("%w", err)
	}
	return nil
}
