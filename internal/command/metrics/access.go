package metrics

import (
	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/metrics"
)

// RegisterAccess adds the flag for a to cmd.
func RegisterAccess(cmd *cobra.Command, a *metrics.Access) {
	cmd.Flags().StringVar(&a.TokenFile, "metrics-token", "", "`file` with the bearer tokens of the readers of /metrics, one per line; a line \"tenant NAME TOKEN\" is for one tenant; others then see no series of tenants")
}
