package auditor

import (
	"net"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

// Places are the flags that say where an auditor shows what it has signed, besides
// its ledgers.
type AnchorFlags struct {
	file   anchor.File
	bucket bool
	policy string
	tiles  string
}

// Register adds the flags to cmd.
func (p *AnchorFlags) Register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar((*string)(&p.file), "checkpoint-file", "", anchor.FileUsage)
	flags.BoolVar(&p.bucket, "checkpoint-bucket", true, "keep the newest checkpoints in the broker's bucket too")
	flags.StringVar(&p.policy, "witness-policy", "", anchor.PolicyUsage)
	flags.StringVar(&p.tiles, "tiles-listen", "",
		"`address` on which to serve the ledgers as tlog-tiles, read only: who recorded what when, never what events say")
}

// Apply sets o, whose tenant is known by then, to what the flags say. It reads the
// witness policy. What the flags say wrongly is an error of usage.
func (p *AnchorFlags) Apply(o *auditor.Options) (err error) {
	if err := p.file.Validate(o.Tenant); err != nil {
		return cli.Usage("%w", err)
	}
	if p.tiles != "" {
		if _, _, err := net.SplitHostPort(p.tiles); err != nil {
			return cli.Usage("--tiles-listen: %w", err)
		}
	}
	if p.policy != "" {
		if o.Witnesses, err = anchor.ReadPolicy(p.policy); err != nil {
			return err
		}
	}
	o.CheckpointFile, o.NoBucket, o.TilesListen = p.file, !p.bucket, p.tiles
	return nil
}
