package hookclient

import (
	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/pkg/publish"
)

// Redaction is the flag --no-redact of commands that take events in.
type Redaction struct{ off bool }

// Register adds the flag to cmd.
func (r *Redaction) Register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&r.off, "no-redact", false, "store secrets and personal data as they come")
}

// Redactor returns what the flag asks for: nil, that of pkg/redact, without it.
func (r *Redaction) Redactor() publish.Redactor {
	if r.off {
		return publish.NoRedaction
	}
	return nil
}
